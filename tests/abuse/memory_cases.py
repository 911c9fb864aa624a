"""What a client with the use password can make the server keep beside its buffers."""

import contextlib

import frame
import harness
from stranger_cases import keep_open

MIB = 1 << 20
KEYS = 900_000


def huge_request():
    return harness.encode("MGET", *(f"{number % 100}" for number in range(KEYS)))


class HugeRequests(frame.Case):
    by = frame.USE
    what = "MGETs of 8 MB on many connections, which wait for their turn"
    flags = ["--clients-memory-max", "50mb", "--query-buffer-max", "16mb"]
    CONNECTIONS = 40
    GROWN_MAX = 200

    def play(self, target, is_over):
        request = huge_request()

        def open_one():
            client = target.use()
            with contextlib.suppress(OSError):
                client.send(request)
            return client

        keep_open(open_one, is_over, self.notes, self.CONNECTIONS)

    def check(self, before, after):
        yield "MiB of memory grown", (after.resident_bytes - before.resident_bytes) / MIB, self.GROWN_MAX
        yield "MiB of all clients' buffers", after.metric("mete_client_buffer_bytes") / MIB, 50


class OnceHuge(frame.Case):
    by = frame.USE
    what = "connections that have asked for 900,000 keys once, and stay"
    flags = ["--query-buffer-max", "16mb"]
    CONNECTIONS = 20
    # The allocator keeps something of what was used: about what one request takes, and a little of each.
    OF_ONE_MAX = 40
    OF_EACH_MAX = 4

    def play(self, target, is_over):
        request = huge_request()

        def open_one():
            client = target.use()
            client.send(request)
            # Read as bytes: a list of 900,000 would take a second to make.
            answer = client.read(len(b"*900000\r\n") + KEYS * len(b"$-1\r\n"))
            assert answer.startswith(b"*900000\r\n$-1\r\n")
            return client

        keep_open(open_one, is_over, self.notes, self.CONNECTIONS)

    def check(self, before, after):
        grown = (after.resident_bytes - before.resident_bytes) / MIB
        yield "MiB of memory", grown, self.OF_ONE_MAX + self.OF_EACH_MAX * after.notes["connections"]
