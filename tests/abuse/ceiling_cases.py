"""What a client with the use password can do by filling up what has a ceiling."""

import contextlib
import os
import selectors
import time

import frame
import harness
from frame import Target

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


class MemoryCeiling(Ceiling):
    what = "takes of new keys at the ceiling of memory"
    flags = ["--max-memory", "12mb"]

    def prepare(self, server):
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET stored STOCK 1000")
            # Innocents have their meters before there is no room for them.
            admin.line("LIMIT SET innocent STOCK 9000000000000000")
            for key in ("alice", "bob"):
                admin.line(f"TAKE innocent {key}")
        super().prepare(server)

    def request(self, number):
        return harness.encode("TAKE", "stored", f"key {number}")


class HoldsOfOneMeter(frame.Case):
    by = frame.USE
    what = "usage, gives and denied takes of a meter with many open holds"
    words = [("USAGE", "jobs", "k"), ("GIVE", "jobs", "k"), ("TAKE", "jobs", "k", "COST", 2_000_000)]

    def prepare(self, server):
        holds = 1_000_000 if frame.is_long else 30_000
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET jobs BUCKET 2000000 PER 1h")
            frame.send_all(admin, (("HOLD", "jobs", "k", "TTL", "1h", "ID", f"h{number}") for number in range(holds)))

    def play(self, target, is_over):
        answers = 0
        with target.use() as client:
            while not is_over():
                client.send(b"".join(harness.encode(*words) for words in self.words) * 100)
                for _ in range(100 * len(self.words)):
                    client.reply()
                    answers += 1
        self.notes["answers"] = answers


class ExpiringHolds(frame.Case):
    """A moment after they have expired, whoever asks for one of the meters ends all its holds."""

    by = frame.USE
    what = "meters with many holds that expire together"
    METERS = 4

    def prepare(self, server):
        self.holds = 600_000 if frame.is_long else 30_000
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET jobs STOCK 2000000")
            # All of one meter behind each other: the last of them has the least time left.
            for meter in range(self.METERS):
                frame.send_all(admin, (("HOLD", "jobs", meter, "TTL", "1h", "ID", f"h{meter} {number}")
                                       for number in range(self.holds // self.METERS)))

    def play(self, target, is_over):
        with target.use() as client:
            for meter in range(self.METERS):
                frame.send_all(client, (("EXTEND", f"h{meter} {number}", "TTL", "200ms")
                                        for number in range(self.holds // self.METERS)))
                time.sleep(0.2)
                used, held = client.ask("USAGE", "jobs", meter)[:2]
                assert (used, held) == (0, 0), (used, held)
                self.notes["expired"] = (meter + 1) * self.holds // self.METERS
                if is_over():
                    return
            while not is_over():
                time.sleep(0.01)


class Flush(frame.Case):
    by = frame.ADMIN
    what = "FLUSHALL of many holds"
    has_passwords = False

    def prepare(self, server):
        with server.resp() as admin:
            admin.line("LIMIT SET jobs STOCK 2000000")
            frame.send_all(admin, (("HOLD", "jobs", f"k{number}", "TTL", "1h", "ID", f"h{number}", "TAG", f"t{number}")
                                   for number in range(700_000 if frame.is_long else 20_000)))

    def play(self, target, is_over):
        with target.resp() as admin:
            time.sleep(0.5)
            assert admin.ask("FLUSHALL") == "OK"
            assert admin.ask("HOLDS", "TAG", "t1") == []
        while not is_over():
            time.sleep(0.01)


class Waiters(frame.Case):
    by = frame.USE
    what = "many takes that wait, and gives beside them"
    flags = ["--waiters-max", "20000", "--max-connections", "12000"]
    KEYS = 100

    def prepare(self, server):
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET full STOCK 1")
            for key in range(self.KEYS):
                admin.line(f"TAKE full {key}")

    def play(self, target, is_over):
        waiting = [target.use() for _ in range(9_000 if frame.is_long else 300)]
        for number, each in enumerate(waiting):
            each.send(harness.encode("TAKE", "full", number % self.KEYS, "WAIT", "1h"))
        gives = 0
        with self.giver(target) as give:
            while not is_over():
                give()
                gives += 1
        self.notes.update(gives=gives, waiting=len(waiting))

    @contextlib.contextmanager
    def giver(self, target):
        with target.use() as client:
            yield lambda: client.ask("GIVE", "full", "other")


class WaitersBesideHttp(Waiters):
    what = "many takes that wait, and writes over HTTP beside them"

    @contextlib.contextmanager
    def giver(self, target):
        headers = {"Authorization": f"Bearer {frame.USE_PASSWORD}"}
        body = {"charges": [{"limit": "full", "key": "other"}]}
        with target.http() as connection:
            yield lambda: harness.ask_http(connection, "POST", "/v1/give", body, headers)


class WaitersOfAStoreElsewhere(frame.Case):
    """The store is asked a hundred times a second for all who wait there, however fast their buckets are."""

    by = frame.USE
    what = "many takes that wait for fast buckets of a store elsewhere, again and again"
    KEYS = 100
    COMMANDS_MAX = 1_000  # a second: some more for each that comes anew

    def options(self, test):
        far = harness.Server(test)
        self.far = Target(far.resp_port, far.http_port, None, far.process.pid, False)
        self.flags = ["--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", f"mete://127.0.0.1:{far.resp_port}"]
        return {"listen": False}

    def prepare(self, server):
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET fast BUCKET 200 PER 1s BURST 1")

    def play(self, target, is_over):
        waits = selectors.DefaultSelector()
        for number in range(2 * self.KEYS):  # so that there is always somebody who waits
            client = target.use()
            request = harness.encode("TAKE", "fast", number % self.KEYS, "WAIT", "1h")
            waits.register(client.socket, selectors.EVENT_READ, (client, request))
            client.send(request)
        while not is_over():
            for ready, _ in waits.select(timeout=0.01):
                client, request = ready.data
                client.reply()
                client.send(request)

    def check_beside(self, target):
        def commands():
            metrics = self.far.ask_http("GET", "/metrics").body.decode()
            return frame.Moment(self.far, 0, metrics, {}).metric("mete_commands_total")

        before, began = commands(), time.monotonic()
        time.sleep(1)
        yield "commands a second at the store", (commands() - before) / (time.monotonic() - began), self.COMMANDS_MAX


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


class IdBudget(frame.Case):
    """The ids of one limit are spent; holds on another one go on."""

    by = frame.USE
    what = "holds with new ids on one limit, until none is left for it"
    flags = ["--ids-max", "8000"]

    def prepare(self, server):
        with server.resp(password=frame.ADMIN_PASSWORD) as admin:
            admin.line("LIMIT SET greedy STOCK 1000000")
            admin.line("LIMIT SET modest STOCK 1000000")

    def play(self, target, is_over):
        holds = 0
        with target.use() as client:
            while not is_over():
                client.send(b"".join(harness.encode("HOLD", "greedy", "k", "TTL", "1h") for _ in range(BATCH)))
                holds += sum(not isinstance(client.reply(), harness.Failure) for _ in range(BATCH))
                self.notes["holds"] = holds

    def check_beside(self, target):
        with target.use() as client:
            harness.wait_until(lambda: isinstance(client.ask("HOLD", "greedy", "k", "TTL", "1h"), harness.Failure))
            holds = [client.ask("HOLD", "modest", "k", "TTL", "1h") for _ in range(100)]
        refused = sum(isinstance(answer, harness.Failure) for answer in holds)
        yield "holds of others that were refused, of a hundred", refused, 0
