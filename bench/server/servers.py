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

    def __init__(self, name, command, port, http_port=None, start_seconds_max=START_SECONDS_MAX):
        self.name = name
        self.port = port
        self.http_port = http_port
        self.start_seconds_max = start_seconds_max
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
            with contextlib.suppress(OSError):
                if self.call("PING").startswith(b"+"):  # not an error, as while it loads
                    return
            if self.process.poll() is not None:
                reason = self.process.stderr.read().strip() or f"exit status {self.process.returncode}"
                raise RuntimeError(f"{self.name} does not start: {reason}")
            if time.monotonic() - started > self.start_seconds_max:
                raise RuntimeError(f"{self.name} does not answer within {self.start_seconds_max} s")
            time.sleep(POLL_SECONDS)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http_port}"

    def connect(self, seconds_max=ANSWER_SECONDS_MAX):
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds_max)

    def call(self, *words, seconds_max=ANSWER_SECONDS_MAX):
        """The first bytes of the reply: enough for the short ones asked for here."""
        with self.connect(seconds_max) as connection:
            return ask(connection, *words)

    def resident_bytes(self):
        return self._memory("VmRSS")

    def peak_bytes(self):
        return self._memory("VmHWM")

    def _memory(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024

    def info(self, section):
        """The section of INFO as a map of texts."""
        return dict(re.findall(r"^(\w+):(.*?)\r?$", self.call("INFO", section).decode(), re.MULTILINE))

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


def start_mete(program, directory=None, *flags, start_seconds_max=START_SECONDS_MAX):
    """In memory alone, unless there is a directory."""
    store = ("--store", f"embedded:{directory}") if directory else ("--data", "")
    return start_mete_with(program, (*store, *flags), start_seconds_max)


def start_mete_with(program, flags, start_seconds_max=START_SECONDS_MAX):
    port, http_port = free_port(), free_port()
    command = [program, "serve", "--resp", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http_port}", *flags]
    return Server("Mete", command, port, http_port, start_seconds_max)


def start_redis(directory=None, fsync=None):
    """Without a log of its commands, unless it is told how often that is synced."""
    program = shutil.which("redis-server")
    if program is None:
        raise Missing("no redis-server to compare with: ./x bench installs it, or: apt-get install redis-server")
    port = free_port()
    log = ("--appendonly", "yes", "--appendfsync", fsync) if fsync else ("--appendonly", "no")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", *log, "--dir", str(directory or "/tmp")]
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
