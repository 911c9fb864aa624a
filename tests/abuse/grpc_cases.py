"""What can be done to the gRPC door: windows that never open, calls that never end, frames without end."""

import contextlib
import time

import frame
import harness
import http2
from http2 import DATA, END_HEADERS, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, CONTINUATION
from stranger_cases import MEMORY_OF_A_CONNECTION, GuessesOverHttp, keep_open, send_all_that_is_taken

REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
CONNECTIONS = 100
TAKE = b"\x0a\x11\x0a\x08innocent\x12\x05alice"


class Kept(frame.Case):
    """What connections keep of the server's memory."""

    bytes_max = MEMORY_OF_A_CONNECTION

    def open(self, target):
        raise NotImplementedError

    def play(self, target, is_over):
        keep_open(lambda: self.open(target), is_over, self.notes, CONNECTIONS)

    def check(self, before, after):
        grown = after.resident_bytes - before.resident_bytes
        yield "bytes of memory for each connection", grown / CONNECTIONS, self.bytes_max


class AnswersBeyondTheWindow(Kept):
    what = "reflection, asked again and again behind a window of 0"

    def open(self, target):
        client = target.grpc(window=0)
        ask = http2.frame(DATA, 0, 1, http2.message(b"\x22\x0cmete.v1.Mete"))
        send_all_that_is_taken(client, http2.frame(HEADERS, END_HEADERS, 1, http2.request(REFLECTION)) + ask * 800, 20_000)
        return client


class TakesBeyondTheWindow(Kept):
    by = frame.USE
    what = "a stream of takes behind a window of 0"
    bytes_max = 1 << 20

    def open(self, target):
        client = target.grpc(window=0)
        headers = http2.request("/mete.v1.Mete/Takes", ("authorization", f"Bearer {frame.USE_PASSWORD}"))
        takes = http2.frame(DATA, 0, 1, http2.message(TAKE) * 500)
        send_all_that_is_taken(client, http2.frame(HEADERS, END_HEADERS, 1, headers) + takes * 40, 400_000)
        return client


class ManyWatches(Kept):
    what = "a thousand watches, each with a long header that costs the client a byte"

    def open(self, target):
        client = target.grpc()
        path = "/grpc.health.v1.Health/Watch"
        long = http2.literal("authorization", b"x" * 3_900, is_remembered=True)
        ask = http2.frame(DATA, 1, 1, http2.message())
        client.send_if_open(http2.frame(HEADERS, END_HEADERS, 1, http2.request(path) + long) + ask)
        calls = b"".join(http2.frame(HEADERS, END_HEADERS, stream, http2.request(path) + b"\xbe") +
                         http2.frame(DATA, 1, stream, http2.message()) for stream in range(3, 2_000, 2))
        client.send_if_open(calls)
        return client


class Endless(frame.Case):
    """Frames without end, on a few connections; who is sent away comes again."""

    piece = b""

    def play(self, target, is_over):
        pieces = 0
        while not is_over():
            with target.grpc() as client:
                while not is_over() and client.send_if_open(self.pieces(pieces)):
                    pieces += 1
                    client.socket.setblocking(False)
                    try:
                        while client.socket.recv(65536):
                            pass
                    except OSError:
                        pass
                    client.socket.settimeout(harness.PATIENCE_S)
        self.notes["pieces"] = pieces

    def pieces(self, number):
        return self.piece


class Pings(Endless):
    what = "pings and settings without end"
    piece = http2.frame(PING, 0, 0, b"12345678") * 200 + http2.frame(SETTINGS, 0, 0) * 200


class Continuations(Endless):
    what = "headers that go on and on"
    piece = http2.frame(HEADERS, 0, 1, http2.request(REFLECTION)) + http2.frame(CONTINUATION, 0, 1, http2.literal("x", "y" * 100) * 20) * 50


class Resets(Endless):
    what = "calls that are broken off at once"

    def pieces(self, number):
        first = 1 + number * 100
        return b"".join(http2.frame(HEADERS, END_HEADERS, stream, http2.request(REFLECTION)) +
                        http2.frame(RST_STREAM, 0, stream, b"\0\0\0\x08") for stream in range(first, first + 100, 2))


class PingingForEver(frame.Case):
    what = "pings that keep a stranger's connection"
    flags = ["--authentication-timeout", "1s"]
    STAYS_MAX_S = 4

    def play(self, target, is_over):
        began = time.monotonic()
        with target.grpc() as client:
            while time.monotonic() - began < self.STAYS_MAX_S + 1 and client.send_if_open(http2.frame(PING, 0, 0, b"12345678")):
                time.sleep(0.02)
        self.notes["stays"] = time.monotonic() - began
        while not is_over():
            time.sleep(0.01)

    def check(self, before, after):
        yield "seconds that a stranger stays", after.notes["stays"], self.STAYS_MAX_S


class GuessesOverGrpc(frame.Case):
    what = "guesses over gRPC, many connections at once"

    def play(self, target, is_over):
        clients = []
        guesses = 0
        while not is_over():
            if len(clients) > 200:
                clients.pop(0).close()
            client = target.grpc()
            with contextlib.suppress(ConnectionError):
                client.call(1, "/mete.v1.Mete/Take", TAKE, password=f"guess {guesses}")
            clients.append(client)
            guesses += 1
        for each in clients:
            each.close()
        self.notes["guesses"] = guesses

    check = GuessesOverHttp.check


class GrpcPlaces(frame.Case):
    by = frame.USE
    what = "all places of the gRPC door taken, and strangers beside them"
    flags = ["--max-connections", "4"]

    def play(self, target, is_over):
        known = []
        for _ in range(4):
            client = target.grpc()
            client.call(1, "/mete.v1.Mete/Take", TAKE, password=frame.USE_PASSWORD)
            known.append(client)
        strangers = []
        while not is_over():
            strangers.append(target.grpc())
            if len(strangers) > 30:
                strangers.pop(0).close()
            for each in strangers:
                each.send_if_open(http2.frame(PING, 0, 0, b"12345678"))
            time.sleep(0.01)

    def check_beside(self, target):
        started = time.monotonic()
        for _ in range(5):
            assert self.ask(target, "/grpc.health.v1.Health/Check", b"") == b"\x08\x01"
            assert self.ask(target, "/mete.v1.Mete/Take", TAKE, frame.ADMIN_PASSWORD).startswith(b"\x08\x01")
        yield "seconds until the admin and health are answered, five times", time.monotonic() - started, 2

    @staticmethod
    def ask(target, *words):
        """Strangers that come all the time may be quicker than a question: who has lost its place comes again."""
        path, message, *password = words
        while True:
            with contextlib.suppress(EOFError, ConnectionError), target.grpc() as client:
                client.call(1, path, message, password=next(iter(password), None))
                return client.answer()
