"""What a client with the use password can do to its neighbours with connections and their buffers."""

import contextlib
import time

import frame
import harness
from stranger_cases import send_all_that_is_taken

MIB = 1 << 20


class AnswersThatNobodyReads(frame.Case):
    by = frame.USE
    what = "many connections that read none of their answers"
    flags = ["--clients-memory-max", "20mb"]

    def play(self, target, is_over):
        held = []
        while not is_over():
            client = target.use()
            send_all_that_is_taken(client, harness.encode("COMMAND", "DOCS") * 10, 10_000)
            held.append(client)
            if len(held) > 30:
                held.pop(0).close()
            time.sleep(0.02)
        for each in held:
            each.close()

    def check(self, before, after):
        yield "MiB of all clients' buffers", after.metric("mete_client_buffer_bytes") / MIB, 20


class AllPlaces(frame.Case):
    by = frame.USE
    what = "all connections taken, and left silent"
    flags = ["--max-connections", "40"]

    def play(self, target, is_over):
        held = []
        time.sleep(0.5)  # The innocent client has its connections by then.
        while not is_over():
            # Not all at once: a newcomer would get the place of one that has not authenticated yet.
            client = target.raw_resp()
            line = b""
            with contextlib.suppress(EOFError, ConnectionError):
                client.send(harness.encode("AUTH", frame.USE_PASSWORD))
                line = client.read_line()
            if line == b"+OK":
                held.append(client)
            else:
                client.close()
            time.sleep(0.002)
        for each in held:
            each.close()

    def check_beside(self, target):
        yield frame.admin_and_health_get_in(target)


class Repeated(frame.Case):
    """The same requests on several connections, as fast as they are answered."""

    by = frame.USE
    connections = 4
    prepared = []  # commands of the admin, before

    def prepare(self, server):
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            frame.send_all(admin, self.prepared)

    def request(self):
        raise NotImplementedError

    def play(self, target, is_over):
        request = self.request()
        clients = [target.use() for _ in range(self.connections)]
        answers = 0
        while not is_over():
            for client in clients:
                client.send(request)
            for client in clients:
                client.reply()
                answers += 1
        self.notes["answers"] = answers


class ManyKeys(Repeated):
    what = "a hundred thousand keys in one MGET"
    connections = 2

    def request(self):
        return harness.encode("MGET", *(f"key {number}" for number in range(100_000)))


class PatternsOverAll(Repeated):
    what = "KEYS over many keys on many connections"
    connections = 50
    prepared = [("INCR", f"counter {number}") for number in range(100_000)]

    def request(self):
        return harness.encode("KEYS", "*zz*")

    def check_beside(self, target):
        started = time.monotonic()
        with target.resp(frame.ADMIN_PASSWORD) as admin:
            assert admin.line("LIMIT SET another STOCK 5") in ("OK", 1), "the admin is not refused"
        yield "seconds until a limit of the admin is defined", time.monotonic() - started, 1


class ScanWithALongPattern(Repeated):
    """The worst case of the matcher: a class of many characters that it goes through for each byte of a key, in vain."""

    what = "SCAN with a long pattern"
    prepared = [("INCR", "a" * 400 + str(number)) for number in range(2_000)]

    def request(self):
        return harness.encode("SCAN", 0, "MATCH", "*[" + "b" * 1_021 + "]", "COUNT", 1000)


class CommandDocs(frame.Case):
    by = frame.USE
    what = "COMMAND DOCS in a pipeline"

    def play(self, target, is_over):
        answers = 0
        with target.use() as client:
            while not is_over():
                client.send(harness.encode("COMMAND", "DOCS") * 20)
                for _ in range(20):
                    client.reply()
                    answers += 1
        self.notes["answers"] = answers


class ManyNames(frame.Case):
    by = frame.USE
    what = "COMMAND DOCS and INFO of twenty thousand names, and a pattern of half a megabyte"
    ANSWER_MAX = 1 << 20

    def play(self, target, is_over):
        requests = [harness.encode("COMMAND", "DOCS", *["CLIENT"] * 20_000),
                    harness.encode("COMMAND", "INFO", *["nope"] * 20_000),
                    harness.encode("COMMAND", "LIST", "FILTERBY", "PATTERN", "*[" + "a" * 500_000 + "]x")]
        answers = longest = 0
        with target.use() as client:
            while not is_over():
                for request in requests:
                    client.send(request)
                    longest = max(longest, len(str(client.reply())))
                    answers += 1
        self.notes.update(answers=answers, longest=longest)

    def check(self, before, after):
        yield "bytes of the longest answer", after.notes["longest"], self.ANSWER_MAX


class HoldsOfATag(Repeated):
    what = "all holds of a tag over HTTP"
    prepared = [("LIMIT", "SET", "jobs", "STOCK", 1_000_000)] + [
        ("HOLD", "jobs", f"k{number}", "TTL", "1h", "ID", f"h{number}", "TAG", "t") for number in range(30_000)]

    def play(self, target, is_over):
        answers = 0
        while not is_over():
            response = target.ask_http("GET", "/v1/holds?tag=t", headers={"Authorization": f"Bearer {frame.USE_PASSWORD}"})
            assert response.status == 200, response.body
            answers += 1
        self.notes["answers"] = answers
