#!/usr/bin/env python3
"""How many calls of a store elsewhere an operation makes, on each store and at each door: as the store itself counts them."""

import contextlib
import json
import threading
import time
import unittest

import etcd_server
import harness
import postgres
import python_packages
import redis_server

if __name__ == "__main__":
    python_packages.run_with_packages()

import grpc_test

TIMES = 50
# What the server asks by itself meanwhile, at most: whether limits have changed, whether the store is still the same, and
# what there is.
OWN_CALLS_A_SECOND = 12
TAKES_TOGETHER = 40  # of a call that has many: fewer than one call of a store has

LISTED = 200  # takes of a list

LIMITS = ("BUCKET 1000000 PER 1h", "BUCKET 1000000 PER 1h BURST 2000000", "WINDOW 1000000 PER 1h", "SLIDING 1000000 PER 1h",
          "CALENDAR 1000000 PER DAY", "STOCK 1000000")
# Of each operation on a limit {0}, by the id {1}: its name, and how it is asked. Of the key "held" something is held, "own" has an
# amount of its own, and what costs TOO_MUCH is denied.
TOO_MUCH = 3_000_000
RESP = {"take": "TAKE {0} k", "take by id": "TAKE {0} k ID take-{1}", "take of two": "TAKE {0} k AND {0} other",
        "up to": "TAKE {0} k COST 5 UPTO", "force": "TAKE {0} k FORCE", "peek": "PEEK {0} k", "give": "GIVE {0} k",
        "usage": "USAGE {0} k", "reconcile": "RECONCILE {0} k 5", "hold": "HOLD {0} k TTL 1h ID {1}", "find hold": "HOLD.GET {1}",
        "holds": "HOLDS {0} k", "extend": "EXTEND {1} TTL 2h", "commit": "COMMIT {1}", "cancel": "CANCEL {1}",
        "denied take": f"TAKE {{0}} k COST {TOO_MUCH}", "denied hold": f"HOLD {{0}} k COST {TOO_MUCH} TTL 1h ID denied-{{1}}",
        "take of held": "TAKE {0} held", "denied take of held": f"TAKE {{0}} held COST {TOO_MUCH}",
        "denied hold of held": f"HOLD {{0}} held COST {TOO_MUCH} TTL 1h ID too-much-{{1}}",
        "take of own": "TAKE {0} own", "hold of own": "HOLD {0} own TTL 1h ID own-{1}", "commit of own": "COMMIT own-{1}"}
HTTP = {"take": ("/v1/take", {}), "peek": ("/v1/take", {"mode": "peek"}), "take by id": ("/v1/take", {"id": "http-{1}"}),
        "give": ("/v1/give", {}), "hold": ("/v1/holds", {"ttl": "1h", "id": "{1}-http"})}
HTTP_ENDS = {"extend": ("/v1/holds/{1}-http/extend", {"ttl": "2h"}), "commit": ("/v1/holds/{1}-http/commit", {})}
GRPC = {"take": ("Take", {}), "peek": ("Peek", {}), "take by id": ("Take", {"id": "grpc-{1}"}), "give": ("Give", {}),
        "hold": ("Hold", {"ttl_ms": "3600000", "id": "{1}-grpc"})}
GRPC_ENDS = {"extend": ("Extend", {"ttl_ms": "7200000"}), "commit": ("Commit", {})}
KEYS = ("INCR counter", "GET counter", "SET counter 5", "CL.THROTTLE t 1000 1000 60", "QUOTAINCR q 1000 60")


class StoreCalls:
    """Of one store: `most` has the operations that may make more than one call, with their reason, and `uncounted` those that it does
    not count."""

    most = {}
    uncounted = ()
    own_burst = OWN_CALLS_A_SECOND

    def serve(self, url):
        self.server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--store", url,
                                     listen=False)
        harness.wait_until(lambda: self.server.ask("PING") == "PONG", "that the server is ready")
        self.resp, self.http = self.server.resp(), self.server.http()
        for index, limit in enumerate(LIMITS):
            self.assertEqual(self.resp.line(f"LIMIT SET limit{index} {limit}"), "OK")
            self.assertEqual(self.resp.line(f"HOLD limit{index} held COST 5 TTL 2h ID held{index}")[0], 1)
            self.assertEqual(self.resp.line(f"LIMIT OVERRIDE limit{index} own 900000"), "OK")

    def check(self, name, run, most=None):
        most = most or self.most.get(name, 1)
        begun, before = time.monotonic(), self.calls()
        for index in range(TIMES):
            run(index)
        made = self.calls() - before
        own = OWN_CALLS_A_SECOND * (time.monotonic() - begun) + self.own_burst
        if name not in self.uncounted:
            self.assertGreaterEqual(made, TIMES, name)
        self.assertLessEqual(made, most * TIMES + own, name)

    def ask(self, text):
        answer = self.resp.line(text)
        self.assertNotIsInstance(answer, harness.Failure, text)

    def test_resp(self):
        for limit, kind in enumerate(LIMITS):
            for name, text in RESP.items():
                if name == "cancel":  # of a hold that is committed: refused, and known by one look
                    run = lambda index: self.resp.line(text.format("", f"{limit}-{index}"))
                else:
                    run = lambda index: self.ask(text.format(f"limit{limit}", f"{limit}-{index}"))
                with self.subTest(door="RESP", name=name, limit=kind):
                    self.check(name, run)

    def test_http(self):
        for limit, kind in enumerate(LIMITS):
            charge = {"limit": f"limit{limit}", "key": "k"}
            for charges in ([charge], [charge, {**charge, "key": "other"}]):
                for name, (path, fields) in HTTP.items():
                    def run(index):
                        body = {field: value.replace("{1}", f"{limit}-{len(charges)}-{index}") for field, value in fields.items()}
                        self.post(path, {"charges": charges, **body})
                    with self.subTest(door="HTTP", name=name, limit=kind, charges=len(charges)):
                        self.check(self.name_of(name, charges), run)
                self.check_http_ends(kind, charges, lambda index: f"{limit}-{len(charges)}-{index}")
            with self.subTest(door="HTTP", name="usage", limit=kind):
                self.check("usage", lambda index: harness.ask_http(self.http, "GET", f"/v1/meters/limit{limit}/k"))
            with self.subTest(door="HTTP", name="check", limit=kind):
                self.check("take", lambda index: harness.ask_http(self.http, "GET", f"/v1/check?limit=limit{limit}&key=new"))
            with self.subTest(door="HTTP", name="takes", limit=kind):
                takes = [{"charges": [{**charge, "key": f"k{number}"}]} for number in range(TAKES_TOGETHER)]
                self.check("takes", lambda index: self.post("/v1/takes", takes))

    def check_http_ends(self, kind, charges, id_of):
        """Of the holds that were made, and of as many that are cancelled."""
        for name, (path, body) in HTTP_ENDS.items():
            with self.subTest(door="HTTP", name=name, limit=kind, charges=len(charges)):
                self.check(self.name_of(name, charges), lambda index: self.post(path.replace("{1}", id_of(index)), body))
        for index in range(TIMES):
            self.post("/v1/holds", {"charges": charges, "ttl": "1h", "id": f"{id_of(index)}-other"})
        with self.subTest(door="HTTP", name="cancel", limit=kind, charges=len(charges)):
            self.check(self.name_of("cancel of held", charges), lambda index: self.post(f"/v1/holds/{id_of(index)}-other/cancel", {}))

    @staticmethod
    def name_of(name, charges):
        return name if len(charges) == 1 else f"{name} of two"

    def post(self, path, body):
        response = harness.ask_http(self.http, "POST", path, body)
        self.assertIn(response.status, (200, 201), response.body)

    def test_grpc(self):
        client = grpc_test.Client(self, f"127.0.0.1:{self.server.grpc_port}")
        for limit, kind in enumerate(LIMITS):
            charges = [{"limit": f"limit{limit}", "key": "k"}]
            for name, (method, fields) in GRPC.items():
                def run(index):
                    client.call(method, charges=charges, **{field: value.replace("{1}", f"{limit}-{index}") for field, value in fields.items()})
                with self.subTest(door="gRPC", name=name, limit=kind):
                    self.check(name, run)
            with self.subTest(door="gRPC", name="usage", limit=kind):
                self.check("usage", lambda index: client.call("Usage", limit=f"limit{limit}", key="k"))
            for name, (method, fields) in GRPC_ENDS.items():
                with self.subTest(door="gRPC", name=name, limit=kind):
                    self.check(name, lambda index: client.call(method, id=f"{limit}-{index}-grpc", **fields))
            for index in range(TIMES):
                client.call("Hold", charges=charges, ttl_ms="3600000", id=f"{limit}-{index}-other")
            with self.subTest(door="gRPC", name="cancel", limit=kind):
                self.check("cancel of held", lambda index: client.call("Cancel", id=f"{limit}-{index}-other"))

    def keys(self):
        for text in KEYS:
            with self.subTest(text=text):
                self.check(text, lambda index: self.ask(text))


class Monitor:
    """Counts what clients ask a Redis: each command is one, and what a script asks is none."""

    def __init__(self, test, redis):
        self.redis = redis
        self.count, self.marks = 0, 0
        self.seen = threading.Condition()
        self.client = harness.Resp(redis.port)
        test.addCleanup(self.client.close)
        assert self.client.ask("MONITOR") == "OK"
        self.client.socket.settimeout(None)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(EOFError, OSError):
            while True:
                line = self.client.reply()
                with self.seen:
                    if '"ECHO" "seen"' in line:
                        self.marks += 1
                        self.seen.notify_all()
                    elif " lua] " not in line:
                        self.count += 1

    def so_far(self):
        with self.seen:
            wanted = self.marks + 1
        self.redis.client.ask("ECHO", "seen")
        with self.seen:
            assert self.seen.wait_for(lambda: self.marks >= wanted, harness.PATIENCE_S)
            return self.count


class OnRedis(StoreCalls, unittest.TestCase):
    def setUp(self):
        self.monitors = [Monitor(self, redis) for redis in self.start()]
        self.serve(self.url())

    def start(self):
        self.redis = redis_server.Redis(self)
        return [self.redis]

    def url(self):
        return self.redis.url()

    def calls(self):
        return sum(monitor.so_far() for monitor in self.monitors)

    def test_keys(self):
        self.keys()


class OnRedisCluster(OnRedis):
    # Where an id lies has to be written, and looked up but by who has made the hold. What is of two nodes is done in parts.
    most = {"take by id": 2, "hold": 2, "hold of own": 2, "denied hold": 3, "denied hold of held": 3, "extend": 2, "find hold": 2,
            "cancel": 2, "peek of two": 2, "take of two": 6, "give of two": 6, "take by id of two": 11, "hold of two": 8,
            "extend of two": 11, "commit of two": 12, "cancel of held of two": 12, "takes": TAKES_TOGETHER}
    own_burst = 3 * OWN_CALLS_A_SECOND

    def start(self):
        self.nodes = redis_server.cluster(self)
        return self.nodes

    def url(self):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes) + "?timeout=20s"


class Lists(unittest.TestCase):
    """A list of takes waits for a store far away a few times, and not once for each of them."""

    def setUp(self):
        redis = redis_server.Redis(self)
        self.relay = redis_server.Relay(self, redis.port)
        self.server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--store",
                                     f"redis://127.0.0.1:{self.relay.port}?timeout=20s", "--threads", "1", listen=False)
        self.http = self.server.http()
        for limit in ("api", "other"):
            self.assertEqual(self.server.ask("LIMIT", "SET", limit, "STOCK", 1000000), "OK")

    def lists(self, run):
        """Each kind of list: of those that go alone, one after the other would wait LISTED times."""
        charges = lambda number: [{"limit": "api", "key": f"k{number}"}]
        for name, more in {"plain": lambda number: {}, "by id": lambda number: {"id": f"{run}-{number}"},
                           "up to": lambda number: {"mode": self.up_to},
                           "of two": lambda number: {"charges": [*charges(number), {"limit": "other", "key": f"k{number}"}]}}.items():
            yield name, [{"charges": charges(number), **more(number)} for number in range(LISTED)]
        yield "with a name that is kept", [{"charges": [{"limit": "mete.nodes", "key": "k"}]},
                                           *({"charges": charges(number)} for number in range(LISTED))]

    def check(self, name, ask):
        before = self.relay.round_trips
        begun = time.monotonic()
        ask()
        waited = self.relay.round_trips - before
        own = OWN_CALLS_A_SECOND * (time.monotonic() - begun) + OWN_CALLS_A_SECOND
        self.assertLess(waited, LISTED / 4 + own, name)

    def test_http(self):
        self.up_to = "up_to"
        for name, takes in self.lists("http"):
            with self.subTest(name=name):
                def ask():
                    answers = json.loads(harness.ask_http(self.http, "POST", "/v1/takes", takes).body)
                    self.assertEqual([each for each in answers[-LISTED:] if not each.get("allowed")], [])
                self.check(name, ask)

    def test_grpc(self):
        self.up_to = "UP_TO"
        client = grpc_test.Client(self, f"127.0.0.1:{self.server.grpc_port}")
        for name, takes in self.lists("grpc"):
            with self.subTest(name=name):
                def ask():
                    answers = client.stream("Takes", takes)
                    self.assertEqual([each for each in answers[-LISTED:] if not each["decision"]["allowed"]], [])
                self.check(name, ask)


class OnMete(StoreCalls, unittest.TestCase):
    # They are commands, which leave together.
    most = {"takes": TAKES_TOGETHER}

    def setUp(self):
        self.inner = harness.Server(self)
        self.serve(f"mete://127.0.0.1:{self.inner.resp_port}?timeout=20s")

    def calls(self):
        stats = self.inner.ask("INFO", "stats").decode()
        return int(stats.split("total_commands_processed:")[1].split()[0])

    def test_keys(self):
        self.keys()


class OnPostgres(StoreCalls, unittest.TestCase):
    # Those of sliding windows are asked once more, as they are no plain ones.
    most = {"takes": 2}
    uncounted = ("cancel",)  # a statement that fails

    def setUp(self):
        self.database = self.enterContext(postgres.Postgres(harness.free_port(), {"shared_preload_libraries": "pg_stat_statements"}))
        harness.run(harness.program, "migrate", self.database.url)
        self.database.query("create extension pg_stat_statements")
        self.serve(self.database.url)

    def calls(self):
        return int(self.database.query("select sum(calls) from pg_stat_statements where toplevel and query ~ 'mete(_private)?[.]'")[0][0])


class OnEtcd(StoreCalls, unittest.TestCase):
    # One looks on which meters the hold is.
    most = dict.fromkeys(("commit", "cancel", "commit of two", "cancel of held", "cancel of held of two"), 2)
    own_burst = 40  # now and then it goes round over all keys

    def setUp(self):
        self.etcd = etcd_server.Etcd(self)
        self.serve(self.etcd.url())

    def calls(self):
        lines = self.etcd.read("metrics").splitlines()
        handled = [line for line in lines if line.startswith("grpc_server_handled_total{") and 'grpc_service="etcdserverpb.KV"' in line]
        return sum(int(float(line.split()[-1])) for line in handled)


if __name__ == "__main__":
    harness.main()
