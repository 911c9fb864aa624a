"""What the integration tests share: real servers on free ports, raw sockets, waiting for what happens.

A test file ends in `harness.main()` and is started as: FILE_test.py PROGRAM [unittest arguments].
"""

import contextlib
import fcntl
import functools
import http.client
import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

# How long anything may take that a test waits for. The machine may be busy: this is no measure of speed.
PATIENCE_S = 20

program = None  # The path of mete.


def main():
    """Runs the tests of the calling file against the program that the first argument names."""
    global program
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [UNITTEST ARGUMENTS]")
    program = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__", verbosity=2)


def require(*commands):
    """Fails early, and says what is missing, where a test needs other programs."""
    missing = [command for command in commands if shutil.which(command, path=search_path()) is None]
    if missing:
        raise RuntimeError(f"not installed: {', '.join(missing)}; ./x test installs what the tests need")


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def run(*words, input=None, environment=None, check=True, timeout=PATIENCE_S):
    """Runs a program to its end: (status, standard output, standard error), as text."""
    result = subprocess.run(words, input=input, env=environment, capture_output=True, text=True, timeout=timeout)
    if check and result.returncode != 0:
        raise AssertionError(f"{words} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result


def wait_until(happened, what="what was waited for", patience_s=PATIENCE_S):
    """For what cannot be waited for as an event: asks again until the answer is true, and returns it."""
    deadline = time.monotonic() + patience_s
    while True:
        answer = happened()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} has not happened within {patience_s} s")
        time.sleep(0.01)


# --- Ports ------------------------------------------------------------------------------------------------------------


class PortBlock:
    """Ports that no other test program takes while this one runs, by the same blocks as tests/support/ports.cc.

    They are below those that the kernel gives away by itself: a server that was killed finds its port free again. The
    lock is a name among the abstract Unix sockets, which the kernel takes back when this process ends.
    """

    FIRST, BLOCKS, SIZE = 16_000, 160, 100

    def __init__(self):
        self.given = 0
        self.lock = socket.socket(socket.AF_UNIX)
        blocks = list(range(self.BLOCKS))
        random.SystemRandom().shuffle(blocks)
        for block in blocks:
            with contextlib.suppress(OSError):  # another program has it
                self.lock.bind(f"\0mete-test-ports-{block}")
                self.first = self.FIRST + block * self.SIZE
                return
        raise RuntimeError(f"each of the {self.BLOCKS} blocks of ports is another program's")

    def next(self, count):
        for _ in range(self.SIZE):
            offset = self.given % self.SIZE
            self.given += 1
            ports = range(self.first + offset, self.first + offset + count)
            if offset + count <= self.SIZE and all(map(self.is_free, ports)):
                self.given += count - 1
                return ports[0]
        raise RuntimeError(f"no {count} free ports in a row from {self.first} on")

    @staticmethod
    def is_free(port):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return True
        except OSError:
            return False


_ports = functools.cache(PortBlock)  # taken when it is first needed


def free_port():
    return free_ports(1)


def free_ports(count):
    """The first of so many free ports in a row."""
    return _ports().next(count)


# --- Files ------------------------------------------------------------------------------------------------------------


class Folder:
    """A folder for the time of a test: `Folder(test).write("mete.toml", "…")`."""

    def __init__(self, test):
        self.path = Path(tempfile.mkdtemp(prefix="mete-test-"))
        test.addCleanup(shutil.rmtree, self.path, ignore_errors=True)

    def write(self, name, text):
        """Puts a file there whole, so that whoever watches it sees the old text or the new."""
        fresh = self.path / f".{name}.new"
        fresh.write_text(text)
        fresh.rename(self.path / name)
        return str(self.path / name)

    def __truediv__(self, name):
        return str(self.path / name)


@contextlib.contextmanager
def exclusive(folder):
    """For one test program at a time; makes the folder if there is none."""
    folder.mkdir(exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# --- The server -------------------------------------------------------------------------------------------------------


class Server:
    """A `mete serve` of its own, in memory, on ports that the system chooses; killed at the end of the test.

    `test` is a TestCase, or a class with addClassCleanup for one server per class.
    """

    def __init__(self, test, *flags, config=None, environment=None, stderr=subprocess.PIPE, listen=True, popen=None,
                 prefix=()):
        self.output = []  # The banner, in lines.
        self.log_lines = []
        self.log_changed = threading.Condition()
        self.log_reader = threading.Thread(target=self._read_log, daemon=True)
        self.clients = []  # Closed with the server.
        clean_up = test.addClassCleanup if isinstance(test, type) else test.addCleanup
        words = [*prefix, program, "serve"]
        if listen:
            words += ["--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", ""]
        if config:
            words += ["--config", config]
        words += flags
        own_environment = {name: value for name, value in os.environ.items() if not name.startswith("METE_")}
        # A terminal: elsewhere the banner is a line of the log, which not every test can read.
        terminal, stdout = pty.openpty()
        self.terminal = open(terminal, "rb", buffering=0)
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                        env={**own_environment, **(environment or {})}, **(popen or {}))
        os.close(stdout)
        clean_up(self.kill)
        if stderr == subprocess.PIPE:
            self.log_reader.start()
        self._read_banner()

    def _read_log(self):
        for line in self.process.stderr:
            with self.log_changed:
                self.log_lines.append(line)
                self.log_changed.notify_all()

    def _read_banner(self):
        while line := self._read_line():
            self.output.append(line.rstrip("\r\n"))
            # The last line is "Try: …", which is there only with RESP.
            if line.startswith("Try:") or (line.startswith("  limits") and not self._find("RESP ")):
                break
        else:
            status = self.process.wait(PATIENCE_S)
            raise AssertionError(f"the server ended with {status} at its start: {self.log()}")
        self.resp_port = self._port("RESP")
        self.http_port = self._port("HTTP")
        self.grpc_port = self._port("gRPC")

    def _read_line(self):
        try:
            return self.terminal.readline().decode()
        except OSError:  # How the end of a terminal is told.
            return ""

    def _find(self, pattern):
        return re.search(pattern, "\n".join(self.output))

    def _port(self, name):
        found = self._find(rf"{name} .*?:([0-9]+)\b")
        return int(found[1]) if found else None

    @property
    def banner(self):
        return "\n".join(self.output) + "\n"

    def log(self):
        with self.log_changed:
            return b"".join(self.log_lines).decode(errors="backslashreplace")

    def wait_for_log(self, words, count=1):
        """Until `count` lines of the log have these words; the last of these lines."""
        def found():
            lines = [line.decode(errors="backslashreplace") for line in self.log_lines]
            return [line for line in lines if words in line]

        with self.log_changed:
            if not self.log_changed.wait_for(lambda: len(found()) >= count, PATIENCE_S):
                raise AssertionError(f"not logged: {words}\n" + b"".join(self.log_lines).decode())
            return found()[count - 1]

    def wait_for_event(self, message, count=1):
        """The same for a message, as the JSON that it is."""
        return json.loads(self.wait_for_log(f'"message":"{message}"', count))

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """SIGTERM; the exit status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for client in self.clients:
            client.close()
        self.terminal.close()
        if self.process.stderr:
            self.log_reader.join()
            self.process.stderr.close()

    def is_running(self):
        return self.process.poll() is None

    def resident_bytes(self):
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def resp(self, **options):
        return self._keep(Resp(self.resp_port, **options))

    def raw_resp(self):
        return self._keep(Socket(self.resp_port))

    def raw_http(self):
        return self._keep(Socket(self.http_port))

    def http(self):
        return self._keep(http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=PATIENCE_S))

    def _keep(self, client):
        self.clients.append(client)
        return client

    def ask(self, *words):
        """One command on a connection of its own."""
        with self.resp() as client:
            return client.ask(*words)


# --- RESP -------------------------------------------------------------------------------------------------------------


class Simple(str):
    """A simple string, +OK. (A bulk string is bytes.)"""


class Failure(str):
    """An error, -ERR …, as a value."""

    @property
    def code(self):
        return self.split(" ", 1)[0]


def encode(*words):
    """A command as an array of bulk strings."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Socket:
    """A raw TCP client, for whatever bytes."""

    def __init__(self, port, tls=None, source=None):
        own_address = (source, 0) if source else None
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S, own_address)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_if_open(self, data):
        """For more than the other side may want to read: whether it took it all."""
        try:
            self.send(data)
            return True
        except (ConnectionError, BrokenPipeError):
            return False

    def end_sending(self):
        with contextlib.suppress(OSError):  # the other side may have closed already
            self.socket.shutdown(socket.SHUT_WR)

    def _receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"closed by the server, after {self.buffer[:200]!r}")
        self.buffer += data

    def read(self, count):
        while len(self.buffer) < count:
            self._receive()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_line(self):
        while b"\r\n" not in self.buffer:
            self._receive()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def read_to_end(self):
        """All that comes until the server closes; TimeoutError if it does not."""
        with contextlib.suppress(EOFError, ConnectionError, ssl.SSLError):
            while True:
                self._receive()
        data, self.buffer = self.buffer, b""
        return data

    def is_silent(self, seconds):
        """Whether nothing arrives for so long."""
        self.socket.settimeout(seconds)
        try:
            return not self.buffer and not self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE_S)


class Resp(Socket):
    """A RESP client that hides nothing: replies are values whose types are those of the wire."""

    def __init__(self, port, version=2, password=None, tls=None, source=None):
        super().__init__(port, tls, source)
        if password:
            assert self.ask("AUTH", password) == "OK"
        if version == 3:
            assert self.ask("HELLO", 3)[b"proto"] == 3

    def ask(self, *words):
        self.send(encode(*words))
        return self.reply()

    def line(self, text):
        """A command as people write it: words between spaces."""
        return self.ask(*text.split())

    def reply(self):
        line = self.read_line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Simple(rest.decode())
        if kind == b"-":
            return Failure(rest.decode(errors="backslashreplace"))
        if kind == b":":
            return int(rest)
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind == b"%":
            return {self._hashable(self.reply()): self.reply() for _ in range(int(rest))}
        if kind in (b"*", b"~", b">"):
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        if kind in (b"$", b"="):
            if rest == b"-1":
                return None
            data = self.read(int(rest))
            assert self.read(2) == b"\r\n"
            return data[4:] if kind == b"=" else data
        raise AssertionError(f"no reply begins like {line!r}")

    @staticmethod
    def _hashable(key):
        return tuple(key) if isinstance(key, list) else key


# --- HTTP -------------------------------------------------------------------------------------------------------------


class Response:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()
        self.type = response.headers.get("Content-Type", "").split(";")[0]

    @property
    def json(self):
        return json.loads(self.body)


def ask_http(connection, method, path, body=None, headers=None):
    """A request on a connection that stays open; `body` may be bytes, or what becomes JSON."""
    headers = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
    connection.request(method, path, body=body, headers=headers)
    return Response(connection.getresponse())
