#!/usr/bin/env python3
"""The command line on every kind of store: the same commands, and the same answers, with --on and on a server.

usage: cli_stores_test.py PROGRAM [UNITTEST ARGUMENTS]
"""

import json
import os
import subprocess
import threading
import unittest

import etcd_server
import harness
from postgres import Postgres
from redis_server import Redis

DONE, NO, ERROR = 0, 1, 2  # exit statuses
TAKEN = {"allowed": True, "retry_after_ms": 0, "violated": []}

# (words, exit status, answer): a text, or what stands in the JSON object.
TRANSCRIPT = [
    ("limit list", DONE, "no limits yet: define one with: mete limit set api bucket 100 --per 1m\n"),
    ("limit set api bucket 10 --per 1h --burst 20", DONE,
     "name    api\nkind    bucket\namount  10\nperiod  1h\nburst   20\n"),
    ("limit set credits stock 100 --shadow=false --json", DONE, {"name": "credits", "kind": "stock", "amount": 100}),
    ("limit set links calendar 20 --per MONTH --zone Europe/Berlin --json", DONE,
     {"name": "links", "kind": "calendar", "amount": 20, "period": "month", "zone": "Europe/Berlin"}),
    ("limit get credits", DONE, "name    credits\nkind    stock\namount  100\n"),
    ("limit list", DONE, "NAME     KIND      AMOUNT  PER    OPTIONS\n"
                         "api      bucket        10  1h     burst 20\n"
                         "credits  stock        100  -\n"
                         "links    calendar      20  month  zone Europe/Berlin\n"),
    ("limit override credits bob 7", DONE, "credits: bob has 7 of its own\n"),
    # Takes, and what is in their way.
    ("take api alice", DONE, "allowed  19 of 20 left, full again in 6 min\n"),
    ("take api bob --json", DONE, {**TAKEN, "remaining": 19, "limit": 20, "reset_after_ms": 360000}),
    ("take api carol --cost 21", NO, "denied by api: 21 can never fit; 20 of 20 left\n"),
    ("take credits bob --cost 8", NO, "denied by credits: 8 can never fit; 7 of 7 left\n"),
    ("take credits bob --cost 9 --up-to --json", DONE,
     {**TAKEN, "remaining": 0, "limit": 7, "reset_after_ms": -1, "taken": 7}),
    ("take credits bob --cost 5 --force", DONE, "allowed  0 of 7 left\n"),
    ("take credits alice --cost 30 and credits {alice} --cost 101", NO,
     "denied by credits: no wait is enough, something must be given back; 100 of 100 left\n"),
    ("take credits alice --cost 30 --id op-1", DONE, "allowed  70 of 100 left\n"),
    ("take credits alice --cost 30 --id op-1", DONE, "allowed  70 of 100 left\n"),
    ("take credits alice --cost 31 --id op-1", ERROR, "was used for an operation with other parameters"),
    ("take credits alice --cost 71 --wait 100ms", NO,
     "denied by credits: no wait is enough, something must be given back; 70 of 100 left\n"),
    ("peek credits alice --cost 71", NO,
     "would be denied by credits: no wait is enough, something must be given back; 70 of 100 left\n"),
    ("peek credits alice", DONE, "would be allowed  69 of 100 left\n"),
    ("give credits alice --cost 10", DONE, "returned 10, 80 of 100 left\n"),
    ("give credits alice --cost 99 --id back --json", DONE, {"returned": 20, "remaining": 100, "limit": 100}),
    ("reconcile credits alice 20", DONE, "used 20, before 0\n"),
    # Holds.
    ("hold credits alice --cost 10 --ttl 30d --id job-1 --tag x", DONE, "held  70 of 100 left\nid    job-1\n"),
    ("hold credits alice --cost 101 --ttl 30d --json", NO,
     {"allowed": False, "remaining": 70, "limit": 100, "retry_after_ms": -1, "reset_after_ms": -1,
      "violated": ["credits"]}),
    ("usage credits alice", DONE, "USED  HELD  LEFT  LIMIT  FULL AGAIN\n  20    10    70    100  never\n"),
    ("usage credits alice --json", DONE,
     {"used": 20, "held": 10, "remaining": 70, "limit": 100, "reset_after_ms": -1}),
    ("holds credits alice", DONE,
     "ID     STATE  EXPIRES  TAG  CHARGES\njob-1  held   in 30 d  x    credits alice 10\n"),
    ("holds --tag x", DONE, "ID     STATE  EXPIRES  TAG  CHARGES\njob-1  held   in 30 d  x    credits alice 10\n"),
    ("extend job-1 --ttl 1h --json", DONE, {"expires_in_ms": 3600000}),
    ("commit job-1 11", ERROR, "commit less, or allow overage with --overage"),
    ("commit job-1 4", DONE, "committed 4, 76 of 100 left\n"),
    ("commit job-1", ERROR, "hold 'job-1' is committed already"),
    ("holds job-1", DONE, "id       job-1\nstate    committed\nexpires  -\ntag      x\ncharges  credits alice 4\n"),
    ("hold credits alice --ttl 1h --id job-2", DONE, "held  75 of 100 left\nid    job-2\n"),
    ("cancel job-2", DONE, "returned 1, 76 of 100 left\n"),
    ("cancel nope", ERROR, "no hold 'nope': it is unknown, or was forgotten; the open holds of a key are listed by: mete "
                           "holds LIMIT KEY"),
    # What is wrong, and the end.
    ("take nope alice", ERROR, "no limit 'nope': define it with: mete limit set nope bucket 100 --per 1m"),
    ("take api alice --cost -1", ERROR, "cost of 'api' must be 0 to"),
    ("limit set api bucket 10", ERROR, "period is missing: a bucket needs one"),
    ("limit set shared stock 10 --scope escrow", ERROR, "scope: escrow needs shared and node in [escrow]"),
    ("limit del links --json", DONE, {"deleted": True}),
    ("limit del links", ERROR, "no limit 'links'"),
    ("limit get links", ERROR, "no limit 'links'"),
]


class CliStoresTest(unittest.TestCase):
    maxDiff = None

    def run_mete(self, words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("METE_")}
        return subprocess.run([harness.program, *words.split(), *self.place], capture_output=True, text=True,
                              timeout=harness.PATIENCE_S, env=environment, stdin=subprocess.DEVNULL)

    def check(self, words, status, answer):
        with self.subTest(words):
            result = self.run_mete(words)
            self.assertEqual((result.returncode, result.stderr == ""), (status, status != ERROR),
                             result.stdout + result.stderr)
            if status == ERROR:
                self.assertIn(answer, result.stderr)
            elif isinstance(answer, dict):
                self.assertEqual(json.loads(result.stdout), answer)
            else:
                self.assertEqual(result.stdout, answer)

    def check_all(self, *place):
        self.place = place
        for row in TRANSCRIPT:
            self.check(*row)
        self.check_waiting()

    def check_waiting(self):
        """A take waits for time to pass, and for something to be given back; but where a process has the store alone, nobody
        else can give it back."""
        self.check("limit set fast bucket 1 --per 1s", DONE, "name    fast\nkind    bucket\namount  1\nperiod  1s\n")
        self.check("take fast alice", DONE, "allowed  0 of 1 left, full again in 1 s\n")
        self.check("take fast alice --wait 15s", DONE, "allowed  0 of 1 left, full again in 1 s\n")
        if "embedded:" in self.place[1]:
            return
        self.check("take credits carol --cost 100", DONE, "allowed  0 of 100 left\n")
        waiting = []
        thread = threading.Thread(target=lambda: waiting.append(self.run_mete("take credits carol --cost 3 --wait 15s")))
        thread.start()
        self.check("give credits carol --cost 5", DONE, "returned 5, 5 of 100 left\n")
        thread.join()
        self.assertEqual((waiting[0].stdout, waiting[0].returncode), ("allowed  2 of 100 left\n", DONE))

    def test_on_a_server(self):
        server = harness.Server(self)
        self.check_all("--server", f"127.0.0.1:{server.resp_port}")

    def test_on_another_mete(self):
        server = harness.Server(self)
        self.check_all("--on", f"mete://127.0.0.1:{server.resp_port}?timeout=20s")

    def test_on_a_data_directory(self):
        self.check_all("--on", f"embedded:{harness.Folder(self) / 'data'}")

    def test_on_redis(self):
        redis = Redis(self)
        self.check_all("--on", redis.url())
        self.check_reserved(redis.url(), lambda: redis.client.ask("HEXISTS", "mete.limits", "mete.store") == 1)

    def check_reserved(self, url, is_there):
        """What servers keep for themselves in a store is as if it were not there."""
        shown = self.run_mete("limit list").stdout
        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "off", "--store", url, listen=False)
        harness.wait_until(is_there, "that the server has a limit of its own")
        server.stop()
        self.check("limit list", DONE, shown)
        for words in ("take mete.store identity", "peek mete.store identity", "usage mete.store identity",
                      "hold mete.store identity --ttl 1h", "give mete.store identity"):
            self.check(words, ERROR, "mete.store")
        for words in ("limit override mete.store identity 7", "limit set mete.store stock 7", "hold credits k --ttl 1h --id mete-1"):
            self.check(words, ERROR, "mete")

    def test_on_postgres(self):
        with Postgres(harness.free_port()) as postgres:
            harness.run(harness.program, "migrate", postgres.url)
            self.check_all("--on", postgres.url)
            self.check_reserved(postgres.url, lambda: postgres.query("select 1 from mete.limits where name = 'mete.store'"))

    def test_on_etcd(self):
        self.place = ("--on", etcd_server.Etcd(self).url())
        self.check_all(*self.place)

    def test_one_place_is_named(self):
        """--on is any store, and the options of a server are about a server; the variable stands behind both."""
        folder = harness.Folder(self)
        server = harness.Server(self)
        self.place = ()
        for option in (f"--server 127.0.0.1:{server.resp_port}", "--password x", "--tls"):
            self.check(f"limit list --on embedded:{folder / 'data'} {option}", ERROR,
                       "is about a server, and --on about any store: give one of them")
        self.check("limit list --on nothing://x", ERROR, "no store for 'nothing://x'")
        self.check(f"limit set api stock 5 --on embedded:{folder / 'data'} --json", DONE,
                   {"name": "api", "kind": "stock", "amount": 5})
        environment = {**os.environ, "METE_ON": f"embedded:{folder / 'data'}"}
        words = [harness.program, "limit", "list", "--json"]
        there = harness.run(*words, environment=environment).stdout
        self.assertEqual(json.loads(there), {"limits": [{"name": "api", "kind": "stock", "amount": 5}]})
        elsewhere = harness.run(*words, "--server", f"127.0.0.1:{server.resp_port}", environment=environment).stdout
        self.assertEqual(json.loads(elsewhere), {"limits": []})


if __name__ == "__main__":
    harness.main()
