"""The calls that are compared: those of `mete serve`, as Redis's MONITOR shows them, and those of the usual script."""

import re
import socket
from dataclasses import dataclass
from pathlib import Path

USUAL_SCRIPT = Path(__file__).with_name("hash_bucket.lua").read_text(encoding="ascii")
CHUNK = 50  # commands that are sent at once
ANSWER_SECONDS_MAX = 60


@dataclass(frozen=True)
class Limit:
    """So many units come back in a period of seconds."""
    name: str
    amount: int
    seconds: int | str | None  # a word is a calendar's period; None: nothing comes back
    kind: str = "BUCKET"

    @property
    def definition(self):
        period = f"{self.seconds}s" if isinstance(self.seconds, int) else self.seconds
        return ("LIMIT", "SET", self.name, self.kind, str(self.amount), *(("PER", period) if period else ()))


class Connection:
    """RESP2, whole replies; an error reply is an exception."""

    def __init__(self, server):
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX)
        self._file = self._socket.makefile("rb")

    def call(self, *words):
        return self.pipeline([encode(words)])[0]

    def pipeline(self, commands):
        self._socket.sendall(b"".join(commands))
        return [self.read() for _ in commands]

    def read(self):
        line = self._file.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode(errors="replace"))
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"$":
            return self._file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        return int(rest) if kind == b":" else rest

    def close(self):
        self._file.close()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def encode(words):
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


class Call:
    """A call of a script, to be sent for other keys: {key} in the keys' names stands for one."""

    def __init__(self, title, digest, names, arguments):
        self.title = title
        self.digest = digest
        self.names = names
        self.arguments = arguments

    def words(self, key):
        names = [name.replace("{key}", key) for name in self.names]
        return ("EVALSHA", self.digest, len(names), *names, *self.arguments)

    def chunks(self, keys):
        """What is sent at once, for all keys."""
        commands = [encode(self.words(key)) for key in keys]
        return [commands[first:first + CHUNK] for first in range(0, len(commands), CHUNK)]


def unescape(text):
    """A word of MONITOR's line."""
    named = {"n": b"\n", "r": b"\r", "t": b"\t", "a": b"\a", "b": b"\b"}

    def byte(match):
        escaped = match[1].decode()
        return bytes.fromhex(escaped[1:]) if escaped[0] == "x" else named.get(escaped, escaped.encode())

    return re.sub(rb"\\(x[0-9a-f]{2}|.)", byte, text)


def capture(redis, mete, title, *take):
    """The call by which Mete makes a take whose key is KEY: the last of two, since the first finds no meter."""
    with Connection(mete) as client, Connection(redis) as monitor:
        monitor.call("MONITOR")
        for _ in range(2):
            if client.call(*take)[0] != 1:
                raise RuntimeError(f"{' '.join(take)} is denied: it must be allowed")
        found = []
        while len(found) < 2:
            line = monitor.read()
            words = [unescape(word) for word in re.findall(rb'"((?:[^"\\]|\\.)*)"', line)]
            if words and words[0].upper() == b"EVALSHA" and b"{KEY}" in words[3]:
                found.append(words)
    _, digest, count, *rest = found[-1]
    names = [name.decode().replace("{KEY}", "{{key}}") for name in rest[:int(count)]]
    return Call(title, digest.decode(), names, rest[int(count):])


def usual_call(connection, limit, name="usual:{key}"):
    digest = connection.call("SCRIPT", "LOAD", USUAL_SCRIPT).decode()
    return Call("the usual script", digest, [name], [limit.amount, limit.seconds * 10**9, 1])
