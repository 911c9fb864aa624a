"""The servers that are compared: started on free ports, asked over RESP, stopped."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

START_SECONDS_MAX = 10
ANSWER_SECONDS_MAX = 10
POLL_SECONDS = 0.0005


class Missing(Exception):
    """A program is not there; the message says how to get it."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running server. `name` is what tables call it."""

    def __init__(self, name, command, port, http_port=None):
        self.name = name
        self.port = port
        self.http_port = http_port
        started = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        try:
            self._wait_for_answer(started)
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - started

    def _wait_for_answer(self, started):
        while True:
            try:
                self.call("PING")
                return
            except OSError as error:
                if self.process.poll() is not None:
                    reason = self.process.stderr.read().strip() or f"exit status {self.process.returncode}"
                    raise RuntimeError(f"{self.name} does not start: {reason}") from error
                if time.monotonic() - started > START_SECONDS_MAX:
                    raise RuntimeError(f"{self.name} does not answer within {START_SECONDS_MAX} s") from error
                time.sleep(POLL_SECONDS)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http_port}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_SECONDS_MAX)

    def call(self, *words):
        """The first bytes of the reply: enough for the short ones asked for here."""
        with self.connect() as connection:
            return ask(connection, *words)

    def resident_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024

    def version(self):
        info = self.call("INFO", "server").decode(errors="replace")
        for name in ("mete", "redis"):
            if match := re.search(rf"^{name}_version:(\S+)", info, re.MULTILINE):
                return f"{name} {match[1]}"
        return self.name

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=ANSWER_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def ask(connection, *words):
    encoded = [f"${len(word)}\r\n{word}\r\n" for word in words]
    connection.sendall(f"*{len(words)}\r\n{''.join(encoded)}".encode())
    reply = connection.recv(65536)
    if not reply:
        raise ConnectionError("the server closed the connection")
    return reply


def start_mete(program):
    port, http_port = free_port(), free_port()
    command = [program, "serve", "--resp", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http_port}", "--data", ""]
    return Server("Mete", command, port, http_port)


def start_redis():
    program = shutil.which("redis-server")
    if program is None:
        raise Missing("no redis-server to compare with: ./x bench installs it, or: apt-get install redis-server")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"]
    return Server("Redis", command, port)


def check_program(program):
    if not os.access(program, os.X_OK):
        raise Missing(f"no program {program}: build it with ./x build")


@contextlib.contextmanager
def idle_connections(server, count):
    """So many connections, each of which has been used once."""
    connections = []
    try:
        for _ in range(count):
            connection = server.connect()
            connections.append(connection)
            ask(connection, "PING")
        yield
    finally:
        for connection in connections:
            connection.close()
