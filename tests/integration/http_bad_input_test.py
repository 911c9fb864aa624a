#!/usr/bin/env python3
"""Bad input on the HTTP port: the right status or a closed connection, and nothing has changed."""

import json
import re
import threading
import time
import unittest

import harness

MIB = 1 << 20  # the limit of a body
BODY = b'{"charges":[{"limit":"st","key":"k"}]}'


def request(*headers, line=b"POST /v1/take HTTP/1.1", body=b"", host=b"Host: x", ending=b"\r\n"):
    lines = [line, host, b"Content-Type: application/json", *headers]
    return ending.join([one for one in lines if one is not None] + [b"", b""]) + body


def sized(body, *headers):
    return request(b"Content-Length: %d" % len(body), *headers, body=body)


def statuses(answer):
    """The statuses of all responses in these bytes."""
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)]


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(cls)
        cls.server.ask("LIMIT", "SET", "st", "STOCK", "100")
        cls.server.ask("TAKE", "st", "k", "COST", "7")

    def tearDown(self):
        self.assertTrue(self.server.is_running())
        with self.server.resp() as client:
            self.assertEqual(client.line("USAGE st k"), [7, 0, 93, 100, -1])
            self.assertEqual(client.line("LIMIT LIST"), [b"st"])
            self.assertEqual(client.line("DBSIZE"), 0)

    def send(self, data):
        """All that comes back until the server closes, where it must."""
        with self.server.raw_http() as client:
            client.send_if_open(data)
            return client.read_to_end()

    def ask(self, data):
        """The status and the problem of one request, on a connection that may stay open."""
        with self.server.raw_http() as client:
            client.send_if_open(data)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.read_line() + b"\r\n"
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                           if line.lower().startswith(b"content-length:")), 0)
            return statuses(head)[0], head, client.read(length)

    # --- Requests that cannot be trusted: one answer, then the connection is closed -----------------------------------

    # What another server in front might read differently, and so smuggle a request past it.
    UNTRUSTED = {
        "Content-Length and Transfer-Encoding": (
            request(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), {400}),
        "two Content-Lengths": (request(b"Content-Length: 5", b"Content-Length: 6", body=BODY), {400}),
        "two equal Content-Lengths": (request(b"Content-Length: 5", b"Content-Length: 5", body=BODY), {400}),
        "a list of Content-Lengths": (request(b"Content-Length: 5, 5", body=BODY), {400}),
        "+5": (request(b"Content-Length: +5", body=BODY), {400}),
        "-5": (request(b"Content-Length: -5", body=BODY), {400}),
        "0x5": (request(b"Content-Length: 0x5", body=BODY), {400}),
        "5 5": (request(b"Content-Length: 5 5", body=BODY), {400}),
        "no number": (request(b"Content-Length:", body=BODY), {400}),
        "a length past 64 bits": (request(b"Content-Length: 18446744073709551617", body=BODY), {400, 413}),
        "a chunk size past 64 bits": (
            request(b"Transfer-Encoding: chunked", body=b"10000000000000001\r\nx\r\n0\r\n\r\n"), {400, 413}),
        "a chunk size near 64 bits": (
            request(b"Transfer-Encoding: chunked", body=b"ffffffffffffffff\r\nx\r\n0\r\n\r\n"), {400, 413}),
        "a chunk size that is no number": (request(b"Transfer-Encoding: chunked", body=b"xyz\r\n"), {400}),
        "a chunk size with a sign": (request(b"Transfer-Encoding: chunked", body=b"+5\r\nhello\r\n0\r\n\r\n"), {400}),
        "a chunk size with 0x": (request(b"Transfer-Encoding: chunked", body=b"0x5\r\nhello\r\n0\r\n\r\n"), {400}),
        "a chunk without its end": (request(b"Transfer-Encoding: chunked", body=b"5\r\nhelloworld"), {400}),
        "a chunk's line of a bare LF": (request(b"Transfer-Encoding: chunked", body=b"5\nhello\r\n0\r\n\r\n"), {400}),
        "another transfer encoding": (request(b"Transfer-Encoding: gzip", body=b"x"), {400, 501}),
        "chunked twice": (request(b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"), {400, 501}),
        "chunked with a vertical tab": (request(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"), {400, 501}),
        "obs-fold": (request(b"X-Folded: a\r\n b", b"Content-Length: 0"), {400}),
        "a space before the colon": (request(b"Content-Length : 0"), {400}),
        "a header without a name": (request(b": x"), {400}),
        "a header without a colon": (request(b"nonsense"), {400}),
        "a NUL byte in a header": (request(b"X-Null: a\x00b"), {400}),
        "a bare CR in a header": (request(b"X-Return: a\rb"), {400}),
        "lines that end in a bare LF": (request(b"Content-Length: 0", ending=b"\n"), {400}),
        "no Host": (request(b"Content-Length: 0", host=None), {400}),
        "two Hosts": (request(b"Host: y", b"Content-Length: 0"), {400}),
        "64 KiB of headers": (request(*[b"X-Header-%d: %s" % (number, b"x" * 100) for number in range(600)]), {431}),
        "one header of 64 KiB": (request(b"X-Long: " + b"x" * 65_536), {431}),
        "64 KiB of a header without an end": (request()[:-2] + b"X-Long: " + b"x" * 65_536, {431}),
        "a path of 64 KiB": (request(line=b"GET /" + b"x" * 65_536 + b" HTTP/1.1"), {414, 431}),
        "a body over the limit": (sized(b" " * (MIB + 1)), {413}),
        "a length over the limit": (request(b"Content-Length: %d" % (MIB + 1)), {413}),
        "chunks over the limit": (
            request(b"Transfer-Encoding: chunked", body=b"100000\r\n" + b" " * MIB + b"\r\n1\r\n"), {413}),
        "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
        "HTTP/9.9": (request(line=b"POST /v1/take HTTP/9.9"), {400, 505}),
        "no version": (b"GET /healthz\r\n\r\n", {400}),
        "two spaces": (request(line=b"POST  /v1/take HTTP/1.1"), {400}),
        "no method": (b" /v1/take HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
        "a method that is no word": (request(line=b"P(ST /v1/take HTTP/1.1"), {400, 405, 501}),
        "RESP": (harness.encode("TAKE", "st", "k"), {400}),
        "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 32 + b"\r\n\r\n", {400}),
    }

    def test_what_cannot_be_trusted_is_refused_and_closed(self):
        for what, (data, wanted) in self.UNTRUSTED.items():
            with self.subTest(what):
                # A second request behind the first must not be answered: it might be someone's body.
                answer = self.send(data + b"GET /v1/check?limit=st&key=k HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(len(statuses(answer)), 1, answer)
                self.assertIn(statuses(answer)[0], wanted)
                head, body = answer.split(b"\r\n\r\n", 1)
                self.assertIn(b"application/problem+json", head)
                self.assertIn("detail", json.loads(body))

    # --- Requests that are well formed, and wrong ---------------------------------------------------------------------

    # Each is the whole body of POST /v1/take.
    BODIES = {
        "nothing": b"",
        "10^5 arrays": b"[" * 100_000,
        "10^5 objects": b'{"a":' * 100_000,
        "deep, and closed": b'{"charges":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "duplicate members": b'{"charges":[{"limit":"st","key":"k"}],"charges":[{"limit":"st","key":"k"}]}',
        "a duplicate key": b'{"charges":[{"limit":"st","key":"j","key":"k"}]}',
        "an escaped duplicate": b'{"charges":[{"limit":"st","key":"j","\\u006bey":"k"}]}',
        "1e999": b'{"charges":[{"limit":"st","key":"k","cost":1e999}]}',
        "1e0": b'{"charges":[{"limit":"st","key":"k","cost":1e0}]}',
        "1.0": b'{"charges":[{"limit":"st","key":"k","cost":1.0}]}',
        "1.5": b'{"charges":[{"limit":"st","key":"k","cost":1.5}]}',
        "-0": b'{"charges":[{"limit":"st","key":"k","cost":-0}]}',
        "-1": b'{"charges":[{"limit":"st","key":"k","cost":-1}]}',
        "+1": b'{"charges":[{"limit":"st","key":"k","cost":+1}]}',
        "01": b'{"charges":[{"limit":"st","key":"k","cost":01}]}',
        "0x1": b'{"charges":[{"limit":"st","key":"k","cost":0x1}]}',
        "NaN": b'{"charges":[{"limit":"st","key":"k","cost":NaN}]}',
        "2^63": b'{"charges":[{"limit":"st","key":"k","cost":9223372036854775808}]}',
        "2^64 + 1": b'{"charges":[{"limit":"st","key":"k","cost":18446744073709551617}]}',
        "2^53 + 1": b'{"charges":[{"limit":"st","key":"k","cost":9007199254740993}]}',
        "10^1000": b'{"charges":[{"limit":"st","key":"k","cost":1' + b"0" * 1000 + b"}]}",
        "text for a number": b'{"charges":[{"limit":"st","key":"k","cost":"1"}]}',
        "a number for text": b'{"charges":[{"limit":"st","key":1}]}',
        "null": b'{"charges":[{"limit":"st","key":null}]}',
        "a lone high surrogate": b'{"charges":[{"limit":"st","key":"\\ud800"}]}',
        "a lone low surrogate": b'{"charges":[{"limit":"st","key":"\\udc00x"}]}',
        "surrogates the wrong way round": b'{"charges":[{"limit":"st","key":"\\udc00\\ud800"}]}',
        "a surrogate in UTF-8": b'{"charges":[{"limit":"st","key":"\xed\xa0\x80"}]}',
        "overlong UTF-8": b'{"charges":[{"limit":"st","key":"\xc0\xaf"}]}',
        "UTF-8 cut short": b'{"charges":[{"limit":"st","key":"\xe2\x82"}]}',
        "a raw control character": b'{"charges":[{"limit":"st","key":"a\nb"}]}',
        "an unknown escape": b'{"charges":[{"limit":"st","key":"\\x41"}]}',
        "garbage behind": BODY + b"x",
        "two values": BODY + BODY,
        "a NUL byte behind": BODY + b"\x00",
        "a byte-order mark": b"\xef\xbb\xbf" + BODY,
        "a comma too many": b'{"charges":[{"limit":"st","key":"k"},]}',
        "single quotes": BODY.replace(b'"', b"'"),
        "a comment": b"/* */" + BODY,
        "cut off": BODY[:-1],
        "an array": b"[" + BODY + b"]",
        "no charges": b'{"charges":[]}',
        "17 charges": json.dumps({"charges": [{"limit": "st", "key": str(key)} for key in range(17)]}).encode(),
        "an unknown member": b'{"charges":[{"limit":"st","key":"k"}],"colour":"red"}',
        "an unknown mode": b'{"charges":[{"limit":"st","key":"k"}],"mode":"steal"}',
        "an empty key": b'{"charges":[{"limit":"st","key":""}]}',
        "a key of 513 bytes": b'{"charges":[{"limit":"st","key":"' + b"x" * 513 + b'"}]}',
        "an empty id": b'{"charges":[{"limit":"st","key":"k"}],"id":""}',
    }

    def test_bodies(self):
        for what, body in self.BODIES.items():
            with self.subTest(what):
                status, head, problem = self.ask(sized(body))
                self.assertEqual(status, 400, problem)
                self.assertIn(b"application/problem+json", head)
                self.assertTrue(json.loads(problem)["detail"])

    # Keys in paths and queries: any bytes in %XX, but only whole UTF-8 can be answered in JSON.
    TARGETS = {
        "/v1/check?limit=st&key=%": 400,
        "/v1/check?limit=st&key=%4": 400,
        "/v1/check?limit=st&key=%zz": 400,
        "/v1/check?limit=st&key=" + "x" * 513: 400,
        "/v1/check?limit=st%00&key=k": 400,
        "/v1/meters/st/": 404,
        "/v1/meters/st/%": 400,
        "/v1/meters/nobody/k": 404,
        "/v1/limits/%2e%2e": 404,
        "/v1/limits/..": 404,
        "/v1/check?limit=nobody&key=k": 404,
        "/v1/check#limit=st&key=k": 400,
        "http://x/v1/meters/nobody/k": 404,
        "*": 400,
        "v1/take": 400,
    }

    def test_targets(self):
        for target, wanted in self.TARGETS.items():
            with self.subTest(target[:60]):
                status, _, problem = self.ask(request(line=b"GET " + target.encode() + b" HTTP/1.1"))
                self.assertIn(status, {wanted, 404 if wanted == 400 and target[0] != "/" else wanted}, problem)

    def test_null_and_overlong_bytes_in_a_key_are_refused_or_a_key_of_their_own(self):
        for key in ("%00", "k%00", "%c0%ab", "%c1%ab", "%e0%81%ab", "%ed%a0%80", "%ff", "k%0d%0aX-Injected:%20yes"):
            with self.subTest(key):
                status, head, _ = self.ask(request(line=f"GET /v1/check?limit=st&key={key} HTTP/1.1".encode()))
                self.assertIn(status, {200, 400})
                self.assertNotIn(b"X-Injected", head)
                if status == 200:  # As fresh as a key that nobody has used: it is not taken for k.
                    self.assertIn(b"\r\nX-RateLimit-Remaining: 99\r\n", head)

    # --- Slow clients -------------------------------------------------------------------------------------------------

    def test_slowloris_is_closed_and_others_are_served(self):
        """A byte now and then keeps no connection: the whole request has 10 seconds. All wait at once."""
        partial = {"header": request(b"X-Slow: ")[:-4], "body": request(b"Content-Length: 1000", body=b"{"),
                   "first line": b"POST /v1/ta"}
        clients = {what: self.server.raw_http() for what in partial}
        started = time.monotonic()
        answers = {}

        def drip(what, client):
            client.send(partial[what])
            client.socket.settimeout(0.5)
            while time.monotonic() - started < 25:
                try:
                    if not client.send_if_open(b" "):
                        break
                    client._receive()
                except TimeoutError:
                    continue
                except (EOFError, ConnectionError):
                    break
            answers[what] = (client.buffer, time.monotonic() - started)

        threads = [threading.Thread(target=drip, args=item) for item in clients.items()]
        for thread in threads:
            thread.start()
        self.assertEqual(statuses(self.send(request(b"Connection: close", line=b"GET /healthz HTTP/1.1"))), [200])
        for thread in threads:
            thread.join()
        for what, (answer, seconds) in answers.items():
            with self.subTest(what):
                self.assertLess(seconds, 20)
                self.assertTrue(answer.startswith(b"HTTP/1.1 408 "), answer)


if __name__ == "__main__":
    harness.main()
