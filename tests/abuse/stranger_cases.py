"""What a stranger without a password can do, and browsers on its behalf."""

import socket
import time

import frame
import harness

KIB = 1024
MEMORY_OF_A_CONNECTION = 64 * KIB
CONNECTIONS = 300


def keep_open(open_one, is_over, notes, count=CONNECTIONS):
    """Opens connections, and holds them until the end."""
    held = []
    for _ in range(count):
        held.append(open_one())
        if is_over():
            break
    notes["connections"] = len(held)
    while not is_over():
        time.sleep(0.01)
    for each in held:
        each.close()


def send_all_that_is_taken(client, data, bytes_max=4 << 20):
    client.socket.setblocking(False)
    sent = 0
    try:
        while sent < bytes_max:
            sent += client.socket.send(data)
    except (BlockingIOError, ConnectionError):
        pass
    return sent


class Memory(frame.Case):
    """What connections that have shown nothing cost the server."""

    def open(self, target):
        raise NotImplementedError

    def play(self, target, is_over):
        keep_open(lambda: self.open(target), is_over, self.notes)

    def check(self, before, after):
        grown = after.resident_bytes - before.resident_bytes
        yield "bytes of memory for each connection", grown / CONNECTIONS, MEMORY_OF_A_CONNECTION


class GuessesInAPipeline(Memory):
    what = "AUTH in a pipeline, and no answer read"

    def open(self, target):
        client = target.raw_resp()
        send_all_that_is_taken(client, harness.encode("AUTH", "x") * 1000)
        return client


class RequestsThatGoOn(Memory):
    what = "a long argument that never ends"

    def open(self, target):
        client = target.raw_resp()
        send_all_that_is_taken(client, b"*2\r\n$4\r\nAUTH\r\n$16000\r\n" + b"x" * 15_000)
        return client


class RefusalsThatNobodyReads(Memory):
    what = "commands without a password, and no answer read"

    def open(self, target):
        client = target.raw_resp()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        send_all_that_is_taken(client, harness.encode("PING") * 1000)
        return client


class BodiesWithoutAToken(Memory):
    what = "HTTP bodies without a token"

    def open(self, target):
        client = target.raw_http()
        send_all_that_is_taken(client, b"POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
                               + b"x" * 900_000, 900_000)
        return client


class LongAnswersToStrangers(Memory):
    what = "the description of the API, which anybody may read, on connections that stay"

    def open(self, target):
        client = target.raw_http()
        client.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        length = 0
        while line := client.read_line():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length > 50 * KIB
        client.read(length)
        return client


class TlsHandshakes(Memory):
    what = "TLS handshakes that end with a client that says nothing"
    uses_tls = True

    def open(self, target):
        return target.raw_http()


class TlsHandshakesThatNeverEnd(Memory):
    what = "TLS handshakes of which the first half comes"
    uses_tls = True

    def open(self, target):
        client = harness.Socket(target.http_port, source=target.source)
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 300)
        return client


class SilentConnections(frame.Case):
    what = "more silent connections than there are places"
    flags = ["--max-connections", "50", "--authentication-timeout", "1s"]

    def play(self, target, is_over):
        held = []
        tried = 0
        while not is_over():
            held.append(target.raw_resp() if tried % 2 else target.raw_http())
            tried += 1
            if len(held) > 120:
                held.pop(0).close()
            time.sleep(0.002)
        for each in held:
            each.close()

    def check_beside(self, target):
        yield frame.admin_and_health_get_in(target)


class GuessesOverHttp(frame.Case):
    what = "guesses over HTTP, a connection each"

    def play(self, target, is_over):
        guesses = 0
        while not is_over():
            client = target.raw_http()
            client.send(b"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        b"Authorization: Bearer guess %d\r\n\r\n" % guesses)
            client.socket.setblocking(False)  # the answer comes late; a guesser asks on, on other connections
            client.close()
            guesses += 1
        self.notes["guesses"] = guesses

    def check(self, before, after):
        name = "mete_authentication_failures_total"
        yield "guesses that were looked at", after.metric(name) - before.metric(name), 100


class GuessesOverResp(frame.Case):
    what = "guesses over RESP, many connections at once"

    def play(self, target, is_over):
        clients = []
        guesses = 0
        while not is_over():
            if len(clients) > 200:
                clients.pop(0).close()
            client = target.raw_resp()
            client.send_if_open(harness.encode("AUTH", f"guess {guesses}"))
            clients.append(client)
            guesses += 1
        for each in clients:
            each.close()
        self.notes["guesses"] = guesses

    check = GuessesOverHttp.check


class Rebinding(frame.Case):
    by = frame.ADMIN
    what = "a page by another name, and one of another origin"
    has_passwords = False

    def play(self, target, is_over):
        changed = 0
        while not is_over():
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"},
                            {"Sec-Fetch-Site": "cross-site"}):
                answer = target.ask_http("DELETE", "/v1/limits/innocent", headers=headers)
                changed += answer.status not in (403, 421)
            time.sleep(0.001)
        self.notes["changed"] = changed

    def check(self, before, after):
        yield "changes by pages of others", after.notes["changed"], 0
