"""What a client with the use password can do by filling up what has a ceiling."""

import os
import time

import frame
import harness
from use_cases import Repeated

BATCH = 500


class Ceiling(frame.Case):
    """Something is full, and asked for on and on; innocents use what is there already."""

    by = frame.USE

    def request(self, number):
        raise NotImplementedError

    def rate(self, client, goes_on):
        """Requests a second, a batch after the other while `goes_on(is_admitted)`."""
        count = 0
        started = time.monotonic()
        is_admitted = True
        while goes_on(is_admitted):
            client.send(b"".join(self.request(self.asked + each) for each in range(BATCH)))
            is_admitted = not any([isinstance(client.reply(), harness.Failure) for _ in range(BATCH)])
            self.asked += BATCH
            count += BATCH
        return count / (time.monotonic() - started)

    def prepare(self, server):
        self.asked = 0
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            self.notes["admissions_per_s"] = self.rate(admin, lambda is_admitted: is_admitted and self.asked < 500_000)
        assert self.asked < 500_000, "it was never full"

    def play(self, target, is_over):
        with target.use() as client:
            self.notes["refusals_per_s"] = self.rate(client, lambda _: not is_over())

    def bars(self):
        yield "admissions for each refusal, in the same time", self.notes["admissions_per_s"] / self.notes["refusals_per_s"], 1.25


class IdCeiling(Ceiling):
    what = "takes with new ids at the ceiling of ids"
    flags = ["--ids-max", "5000"]

    def request(self, number):
        return harness.encode("TAKE", "innocent", "bob", "ID", f"id {number}")


class HoldsOfOneMeter(Repeated):
    what = "usage, gives and denied takes of a meter with many open holds"
    prepared = [("LIMIT", "SET", "jobs", "BUCKET", 1_000_000, "PER", "1h")] + [
        ("HOLD", "jobs", "k", "TTL", "1h", "ID", f"h{number}") for number in range(30_000)]
    words = [("USAGE", "jobs", "k"), ("GIVE", "jobs", "k"), ("TAKE", "jobs", "k", "COST", 1_000_000)]

    def play(self, target, is_over):
        answers = 0
        with target.use() as client:
            while not is_over():
                client.send(b"".join(harness.encode(*words) for words in self.words) * 100)
                for _ in range(100 * len(self.words)):
                    client.reply()
                    answers += 1
        self.notes["answers"] = answers


class Waiters(frame.Case):
    by = frame.USE
    what = "many takes that wait, and gives beside them"
    connections = 300

    def prepare(self, server):
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET full STOCK 1")
            admin.line("TAKE full k")

    def play(self, target, is_over):
        waiting = [target.use() for _ in range(self.connections)]
        for each in waiting:
            each.send(harness.encode("TAKE", "full", "k", "WAIT", "1h"))
        gives = 0
        with target.use() as client:
            while not is_over():
                client.ask("GIVE", "full", "other")
                gives += 1
        self.notes["gives"] = gives


class FullLog(frame.Case):
    what = "protocol errors, while nobody reads the log"

    def options(self, test):
        unread, written = os.pipe()
        test.addCleanup(os.close, unread)
        test.addCleanup(os.close, written)
        return {"stderr": written}

    def play(self, target, is_over):
        errors = 0
        while not is_over():
            with target.raw_resp() as client:
                client.send_if_open(b"*x\r\n")
            with target.raw_resp() as client:
                client.send_if_open(harness.encode("AUTH", f"{errors}"))
            errors += 1
        self.notes["errors"] = errors
