#!/usr/bin/env python3
"""How many calls of a store elsewhere an operation makes, on each store and at each door: as the store itself counts them."""

import shutil
import subprocess
import time
import unittest
import urllib.request

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

LIMITS = ("BUCKET 1000000 PER 1h", "BUCKET 1000000 PER 1h BURST 2000000", "WINDOW 1000000 PER 1h", "SLIDING 1000000 PER 1h",
          "CALENDAR 1000000 PER DAY", "STOCK 1000000")
# Of each operation on a limit {0}, by the id {1}: its name, and how it is asked.
RESP = {"take": "TAKE {0} k", "take by id": "TAKE {0} k ID take-{1}", "take of two": "TAKE {0} k AND {0} other",
        "up to": "TAKE {0} k COST 5 UPTO", "force": "TAKE {0} k FORCE", "peek": "PEEK {0} k", "give": "GIVE {0} k",
        "usage": "USAGE {0} k", "reconcile": "RECONCILE {0} k 5", "hold": "HOLD {0} k TTL 1h ID {1}", "find hold": "HOLD.GET {1}",
        "holds": "HOLDS {0} k", "extend": "EXTEND {1} TTL 2h", "commit": "COMMIT {1}", "cancel": "CANCEL {1}"}
HTTP = {"take": ("/v1/take", {}), "peek": ("/v1/take", {"mode": "peek"}), "take by id": ("/v1/take", {"id": "http-{1}"}),
        "give": ("/v1/give", {}), "hold": ("/v1/holds", {"ttl": "1h", "id": "{1}-http"})}
GRPC = {"take": ("Take", {}), "peek": ("Peek", {}), "take by id": ("Take", {"id": "grpc-{1}"}), "give": ("Give", {}),
        "hold": ("Hold", {"ttl_ms": "3600000", "id": "{1}-grpc"})}
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
                        self.check(name, run)
            with self.subTest(door="HTTP", name="check", limit=kind):
                self.check("take", lambda index: harness.ask_http(self.http, "GET", f"/v1/check?limit=limit{limit}&key=new"))
            with self.subTest(door="HTTP", name="takes", limit=kind):
                takes = [{"charges": [{**charge, "key": f"k{number}"}]} for number in range(TAKES_TOGETHER)]
                self.check("takes", lambda index: self.post("/v1/takes", takes))

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

    def keys(self):
        for text in KEYS:
            with self.subTest(text=text):
                self.check(text, lambda index: self.ask(text))


class OnRedis(StoreCalls, unittest.TestCase):
    def setUp(self):
        self.redis = redis_server.Redis(self)
        self.serve(self.redis.url())

    def calls(self):
        """From outside: those that a script makes are not counted, but for the one of each script itself."""
        found = {}
        for line in self.redis.client.ask("INFO", "commandstats").decode().splitlines():
            if line.startswith("cmdstat_"):
                name, numbers = line[len("cmdstat_"):].split(":", 1)
                found[name] = int(numbers.split(",")[0].removeprefix("calls="))
        return found.get("evalsha", 0) + found.get("eval", 0) + found.get("fcall", 0)

    def test_keys(self):
        self.keys()


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
    most = {"commit": 2, "cancel": 2}
    own_burst = 40  # now and then it goes round over all keys

    def setUp(self):
        harness.require("etcd")
        clients, peers = (f"http://127.0.0.1:{harness.free_port()}" for _ in range(2))
        etcd = subprocess.Popen(
            [shutil.which("etcd", path=harness.search_path()), "--name", "one", "--data-dir", harness.Folder(self) / "etcd",
             "--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
             "--initial-advertise-peer-urls", peers, "--initial-cluster", f"one={peers}", "--unsafe-no-fsync"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(etcd.wait)
        self.addCleanup(etcd.kill)
        self.metrics = f"{clients}/metrics"
        harness.wait_until(self.is_there, "the start of etcd")
        self.serve(clients.replace("http", "etcd") + "?timeout=20s")

    def is_there(self):
        try:
            return self.calls() >= 0
        except OSError:
            return False

    def calls(self):
        with urllib.request.urlopen(self.metrics, timeout=20) as response:
            lines = response.read().decode().splitlines()
        handled = [line for line in lines if line.startswith("grpc_server_handled_total{") and 'grpc_service="etcdserverpb.KV"' in line]
        return sum(int(float(line.split()[-1])) for line in handled)


if __name__ == "__main__":
    harness.main()
