#!/usr/bin/env python3
"""A cluster in a network of its own, over etcd, Redis and PostgreSQL, while cables are cut and made bad and nodes are killed and
paused: in no window is more admitted than the limit, and after the faults the limit is used.

    netns_test.py PROGRAM                          three nodes over one of the stores, with windows of 4 s;
                                                   with METE_TEST_LONG=1 three and five over each, with windows of 60 s
    netns_test.py PROGRAM UNITTEST ARGUMENTS       those that are named
    METE_SEED=N decides the store, the faults and when they come, but not how the machine takes turns.

Needs root, for network namespaces.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

import harness
from crash_test import CleanUp
from netns import judge
from netns.network import Network
from netns.stores import Etcd, Postgres, Redis

IS_LONG = bool(os.environ.get("METE_TEST_LONG"))
SEED = int(os.environ.get("METE_SEED", random.randrange(1 << 32)))
PERIOD_S = 60 if IS_LONG else 4
FAULT_WINDOWS = 4 if IS_LONG else 3
AMOUNT = 3000 if IS_LONG else 400  # in each window
RATE = 200            # takes a second at each node
FAULT_S = (0.2, 2)
QUIET_S = (0.1, 1)
LONG_PAUSE_PERIODS = 1.3
RECOVERY_S = 3        # nodes ask a store that was away again after 2 s at most
USED_MIN = 0.95
START_PATIENCE_S = 40
RESP_PORT = 6380
HAMMER = Path(__file__).with_name("netns") / "hammer.py"
STORE = 0             # members of the network: the store, then the nodes
STORES = (Etcd, Redis, Postgres)
IS_CHOSEN_BY_NAME = len(sys.argv) > 2


class Node:
    def __init__(self, run, member):
        self.run = run
        self.member = member
        self.admissions_path = run.folder / f"admissions-{member}"
        self.server = None

    def start(self):
        """Where the store cannot be reached a node does not start, and is started again."""
        network = self.run.network
        flags = ("--resp", f"127.0.0.1:{RESP_PORT},{network.address(self.member)}:{RESP_PORT}", "--insecure", "--http", "off", "--data", str(self.run.folder / f"data-{self.member}"),
                 "--escrow-shared", self.run.url, "--escrow-node", f"node-{self.member}")
        deadline = time.monotonic() + START_PATIENCE_S
        while True:
            try:
                self.server = harness.Server(self.run.clean_up, *flags, listen=False, prefix=network.inside(self.member))
                return
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def hammer(self):
        words = [*self.run.network.inside(self.member), sys.executable, "-B", HAMMER, RESP_PORT, "api", RATE,
                 self.admissions_path]
        return subprocess.Popen(list(map(str, words)))

    def ask(self, *words):
        """With redis-cli, from inside."""
        done = harness.run(*self.run.network.inside(self.member), "redis-cli", "-p", str(RESP_PORT), *map(str, words))
        return done.stdout.strip()

    def admissions(self):
        return [tuple(map(int, line.split())) for line in self.admissions_path.read_text().splitlines()]


class Run:
    """One cluster, from its start to the verdict."""

    def __init__(self, clean_up, store, size):
        self.clean_up = clean_up
        self.folder = Path(clean_up.enter_context(tempfile.TemporaryDirectory(prefix="mete-netns-")))
        self.network = clean_up.enter_context(Network(1 + size))
        self.url = clean_up.enter_context(store(self.network))
        self.nodes = [Node(self, 1 + number) for number in range(size)]
        self.faults = Counter()
        self.failures = []

    def at_once(self, *tasks):
        def guard(task):
            try:
                task()
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=guard, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failures:
            raise AssertionError("\n".join(self.failures))

    def admit(self):
        """Faults under load, and some time after them; all admissions, and the first whole window without faults."""
        self.at_once(*(node.start for node in self.nodes))
        assert self.nodes[0].ask("LIMIT", "SET", "api", "WINDOW", AMOUNT, "PER", f"{PERIOD_S}s", "SCOPE", "escrow") == "OK"
        hammers = [node.hammer() for node in self.nodes]
        try:
            end = time.monotonic() + FAULT_WINDOWS * PERIOD_S
            self.at_once(*(lambda node=node: self.trouble_node(node, end) for node in self.nodes),
                         lambda: self.trouble_store(end))
            window = int((time.time() + RECOVERY_S) // PERIOD_S) + 1
            time.sleep((window + 1) * PERIOD_S - time.time() + 0.2)
        finally:
            for hammer in hammers:
                hammer.terminate()
            for hammer in hammers:
                hammer.wait()
        return [admission for node in self.nodes for admission in node.admissions()], window

    def trouble_node(self, node, end):
        chance = random.Random(f"{SEED} {node.member}")
        if node.member == 1:
            self.pause(node, LONG_PAUSE_PERIODS * PERIOD_S)
        while time.monotonic() < end:
            time.sleep(chance.uniform(*QUIET_S))
            fault, seconds = chance.choice((self.pause, self.kill, self.cut, self.spoil)), chance.uniform(*FAULT_S)
            fault(node, seconds)

    def trouble_store(self, end):
        chance = random.Random(f"{SEED} store")
        while time.monotonic() < end:
            time.sleep(2 * chance.uniform(*FAULT_S))
            self.cut_member(STORE, chance.uniform(*FAULT_S))

    def pause(self, node, seconds):
        self.faults["pauses"] += 1
        node.server.signal(signal.SIGSTOP)
        time.sleep(seconds)
        node.server.signal(signal.SIGCONT)

    def kill(self, node, seconds):
        self.faults["kills"] += 1
        node.server.kill()
        time.sleep(seconds / 4)
        node.start()

    def cut(self, node, seconds):
        self.cut_member(node.member, seconds)

    def cut_member(self, member, seconds):
        self.faults["cuts"] += 1
        self.network.cut(member)
        time.sleep(seconds)
        self.network.mend(member)

    def spoil(self, node, seconds):
        self.faults["bad cables"] += 1
        chance = random.Random(f"{SEED} {node.member} {seconds}")
        self.network.spoil(node.member, delay_ms=chance.uniform(1, 100), loss=chance.uniform(0, 0.2),
                           seed=chance.randrange(1 << 32))
        time.sleep(seconds)
        self.network.repair(node.member)


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
class Clusters(unittest.TestCase):
    def check(self, store, size):
        harness.require("ip", "redis-cli", "setpriv")
        if not (IS_LONG or IS_CHOSEN_BY_NAME or (store, size) == (STORES[SEED % len(STORES)], 3)):
            self.skipTest(f"METE_SEED={SEED} is not for this one; METE_TEST_LONG=1 is for all")
        with CleanUp() as clean_up:
            run = Run(clean_up, store, size)
            admissions, window = run.admit()
        period_ns = PERIOD_S * 10**9
        windows = sorted({answered // period_ns for _, answered in admissions})
        used = sum(answered // period_ns == window for _, answered in admissions)
        print(f"\n{store.__name__}, {size} nodes, {AMOUNT} each {PERIOD_S} s, METE_SEED={SEED}: "
              f"{', '.join(f'{count} {name}' for name, count in sorted(run.faults.items()))}; surely admitted in each window: "
              f"{' '.join(str(judge.surely_in(admissions, period_ns, each)) for each in windows)}; "
              f"{100 * used / AMOUNT:.1f} % used of the first whole one after the faults", flush=True)
        self.assertIsNone(judge.too_many(admissions, period_ns, AMOUNT), "more than the limit was admitted")
        self.assertGreaterEqual(used, USED_MIN * AMOUNT)

    def test_etcd_3(self):
        self.check(Etcd, 3)

    def test_etcd_5(self):
        self.check(Etcd, 5)

    def test_redis_3(self):
        self.check(Redis, 3)

    def test_redis_5(self):
        self.check(Redis, 5)

    def test_postgres_3(self):
        self.check(Postgres, 3)

    def test_postgres_5(self):
        self.check(Postgres, 5)


class Verdicts(unittest.TestCase):
    """That too many would be found."""

    def test_a_window_that_is_over(self):
        self.assertIsNone(judge.too_many([(10, 11)] * 5, 10, 5))
        self.assertEqual(judge.too_many([(10, 11)] * 6, 10, 5), (1, 1, 6))

    def test_admissions_between_windows_are_in_one_of_them(self):
        self.assertIsNone(judge.too_many([(10, 11)] * 5 + [(19, 20)] * 5, 10, 5))
        self.assertEqual(judge.too_many([(10, 11)] * 5 + [(19, 20)] * 5 + [(25, 26)], 10, 5), (1, 2, 11))


if __name__ == "__main__":
    harness.main()
