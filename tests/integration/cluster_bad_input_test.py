#!/usr/bin/env python3
"""What a cluster must refuse: nodes that are not what they say, shared servers that have forgotten, counters that no
node of it has sent."""

import os
import random
import re
import shutil
import signal
import unittest

import harness
import redis_server
from cluster import STOCK, WINDOW, Cluster, Node


class Starts(unittest.TestCase):
    """Nodes that must not start."""

    def setUp(self):
        self.cluster = Cluster(self)
        (self.node,) = self.cluster.nodes("a")
        self.cluster.define([self.node], "stock", STOCK)

    def goes_on(self):
        self.assertEqual(self.node.line("TAKE stock k")[0], 1)

    def test_two_nodes_with_one_name(self):
        self.assertIn("another node 'a' (incarnation 1",
                      Node(self.cluster, "a", directory=self.cluster.folder / "other").refusal())
        self.assertEqual(self.cluster.starts("a"), 1)
        self.goes_on()

    def test_a_copy_of_a_directory_under_the_same_name_and_under_another(self):
        for name in ("a", "b"):
            copy = self.cluster.copy_directory(self.node, f"copy-for-{name}")
            self.assertIn("is running from this data directory or from a copy of it",
                          Node(self.cluster, name, directory=copy).refusal())
        self.goes_on()

    def test_a_copy_while_the_node_is_away_takes_its_place_and_the_node_may_not_come_back(self):
        """What a node has of a stock is in its directory: two would have it twice."""
        self.goes_on()
        self.node.kill()
        copy = Node(self.cluster, "a", directory=self.cluster.copy_directory(self.node, "copy")).start()
        admitted = 1 + copy.take_all("stock")
        self.assertIn("from a copy of this data directory", self.node.refusal())
        copy.kill()
        self.assertIn("from a copy of this data directory", self.node.refusal())
        self.assertEqual(admitted, 100)

    def test_a_copy_under_another_name_while_the_node_is_away(self):
        self.goes_on()
        self.node.kill()
        copy = Node(self.cluster, "b", directory=self.cluster.copy_directory(self.node, "copy")).start()
        copy.kill()
        self.assertIn("from a copy of this data directory", self.node.refusal())

    def test_a_directory_that_moves_is_no_copy(self):
        self.goes_on()
        self.node.kill()
        shutil.move(self.node.directory, self.cluster.folder / "moved")
        for name in ("a", "b", "a"):
            Node(self.cluster, name, directory=self.cluster.folder / "moved").start().kill()
        moved = Node(self.cluster, "a", directory=self.cluster.folder / "moved").start()
        self.assertEqual(1 + moved.take_all("stock"), 100)


class Wiped(unittest.TestCase):
    """The shared server has lost all it had."""

    def setUp(self):
        self.cluster = Cluster(self)
        self.nodes = self.cluster.nodes("a", "b")
        self.cluster.define(self.nodes, "api", WINDOW)
        self.cluster.define(self.nodes, "stock", STOCK)
        for limit in ("api", "stock"):
            self.assertEqual(self.nodes[0].ask("TAKE", limit, "k")[0], 1)

    def wipe(self):
        self.cluster.shared.stop()
        shutil.rmtree(self.cluster.shared.directory)
        self.cluster.shared.start()

    def test_nodes_that_run_notice_and_draw_nothing(self):
        self.wipe()
        for node in self.nodes:
            self.assertIn("remove the file 'node'", node.server.wait_for_event("no more shares are drawn")["reason"])
        fresh = Node(self.cluster, "fresh").start()  # begins a cluster of its own there
        for limit, rule in (("api", WINDOW), ("stock", STOCK)):
            self.cluster.define([fresh, *self.nodes], limit, rule)
            for node in self.nodes:
                _, error = node.take_until_error(limit)
                self.assertIn("remove the file 'node'", error)
            self.assertEqual(self.cluster.usage(limit), [0, 0, 100])

    def test_a_node_that_has_not_noticed_yet_defines_nothing_there(self):
        self.wipe()
        for node in self.nodes:
            for command in (f"LIMIT SET api {WINDOW}", "QUOTASET q 10 60"):
                answers = []
                harness.wait_until(lambda: answers.append(node.line(command)) or "connection refused" not in answers[-1],
                                   "that it is connected again")
                self.assertIn("remove the file 'node'", answers[-1])
        self.assertEqual(self.cluster.shared.line("LIMIT LIST"), [])

    def test_nodes_that_start_are_refused_until_they_are_told(self):
        for node in self.nodes:
            node.kill()
        self.wipe()
        self.assertIn("It was wiped, or escrow.shared leads to another one", self.nodes[0].refusal())
        self.assertIn("remove the file 'node'", self.nodes[0].refusal())


class WentBack(unittest.TestCase):
    """The shared server runs on from a copy of its directory that was taken earlier, between two starts of nodes."""

    def setUp(self):
        self.cluster = Cluster(self)
        self.nodes = self.cluster.nodes("a", "b")
        self.limits = {"api": "WINDOW 100 PER 366d SCOPE escrow", "stock": STOCK}
        for limit, rule in self.limits.items():
            self.cluster.define(self.nodes, limit, rule)
        self.admitted = dict.fromkeys(self.limits, 0)

    def take(self, count):
        for limit in self.limits:
            for _ in range(count):
                self.admitted[limit] += self.nodes[0].ask("TAKE", limit, "k")[0]

    def beats(self):
        return self.cluster.shared.ask("STORE", "USAGE", "mete.nodes", "{mete}beat:a")[1]

    def copy(self):
        shared = self.cluster.shared
        shared.signal(signal.SIGSTOP)
        shutil.copytree(shared.directory, self.cluster.folder / "copy")
        shared.signal(signal.SIGCONT)

    def restore(self):
        shared = self.cluster.shared
        shared.kill()
        shutil.rmtree(shared.directory)
        shutil.copytree(self.cluster.folder / "copy", shared.directory)
        shared.start()

    def test_nodes_that_run_notice_and_nothing_is_granted_twice(self):
        self.take(10)
        self.copy()
        self.take(70)
        before = self.beats()
        # Of the last one the node may not have had the answer yet.
        harness.wait_until(lambda: self.beats() > before + 1, "that a sign of life is lost with the rest")
        self.restore()
        for node in self.nodes:
            reason = node.server.wait_for_event("no more shares are drawn")["reason"]
            self.assertIn("has gone back to an earlier state", reason)
            self.assertIn("cluster_state:halted", node.line("CLUSTER INFO").decode())
            for limit in self.limits:
                count, error = node.take_until_error(limit)
                self.assertIn("has gone back", error)
                self.admitted[limit] += count
        self.assertLessEqual(max(self.admitted.values()), 100)

    def test_a_node_that_asks_at_once_draws_nothing_either(self):
        self.take(10)
        self.copy()
        self.take(70)
        before = self.beats()
        harness.wait_until(lambda: self.beats() > before + 1, "that a sign of life is lost with the rest")
        self.restore()
        for node in self.nodes:
            for limit in self.limits:
                count, _ = node.take_until_error(limit)
                self.admitted[limit] += count
        self.assertLessEqual(max(self.admitted.values()), 100)

    def test_nodes_that_start_are_refused(self):
        self.copy()
        before = self.beats()
        harness.wait_until(lambda: self.beats() > before + 1, "that signs of life are lost")
        for node in self.nodes:
            node.stop()
        self.restore()
        self.assertIn("signs of life of node 'a', and there were", self.nodes[0].refusal())


class Clients(unittest.TestCase):
    """Who may use a limit, and knows how nodes keep their books."""

    def test_the_key_of_a_generation_is_nobodys_over_http_either(self):
        """Its amount is a random number: whoever could charge it would have the limit without an end."""
        cluster = Cluster(self)
        (node,) = cluster.nodes("a")
        cluster.define([node], "api", WINDOW)
        charges = [{"limit": "api", "key": "mete-generation", "cost": 1_000_000}]
        for place in (("--escrow-shared", cluster.url, "--escrow-node", "web", "--data", cluster.folder / "web"),
                      ("--store", cluster.url)):
            server = harness.Server(self, "--resp", f"127.0.0.1:{harness.free_port()}", "--http", "127.0.0.1:0", *place,
                                    listen=False)
            client = server.http()
            harness.wait_until(lambda: harness.ask_http(client, "GET", "/readyz").status == 200, "that it is ready")
            for path, body in (("take", {"charges": charges}), ("take", {"charges": charges, "id": "once"}),
                               ("holds", {"charges": charges, "ttl": "60s"}), ("give", {"charges": charges})):
                with self.subTest(place=place[0], path=path):
                    answer = harness.ask_http(client, "POST", f"/v1/{path}", body)
                    self.assertEqual(answer.status, 400)
                    self.assertIn("key 'mete-generation' is for", answer.json["detail"])
            self.assertEqual(harness.ask_http(client, "GET", "/v1/meters/api/mete-generation").status, 400)
        for server in (node, cluster.shared):
            for command in ("TAKE api mete-generation COST 1000000", "GIVE api mete-generation",
                            "HOLD api mete-generation TTL 1m"):
                with self.subTest(command=command):
                    self.assertIn("key 'mete-generation' is for", server.line(command))
        self.assertEqual(cluster.shared.ask("STORE", "USAGE", "api", "mete-generation")[1:3], [0, 0])


class Exchange(unittest.TestCase):
    """What goes between nodes at their RESP listeners: STORE MERGE."""

    PASSWORDS = ("--password", "the admin's", "--use-password", "the user's")

    def merge(self, node, password, *words):
        with node.server.resp() as client:
            self.assertEqual(client.ask("AUTH", password), harness.Simple("OK"))
            return client.ask("STORE", "MERGE", *words)

    def ask(self, node, *words):
        with node.server.resp() as client:
            client.ask("AUTH", "the user's")
            return client.ask(*words)

    def setUp(self):
        self.cluster = Cluster(self)
        self.a, self.b = (Node(self.cluster, name, flags=self.PASSWORDS).start() for name in ("a", "b"))
        self.cluster_id = dict(line.split(":", 1) for line in
                               self.ask(self.a, "CLUSTER", "INFO").decode().split("\r\n") if ":" in line)["cluster_id"]

    def goes_on(self):
        before = self.ask(self.a, "INCR", "hits")
        harness.wait_until(lambda: self.ask(self.b, "GET", "hits") == b"%d" % before, "that a counter gets there")

    def test_counters_travel_with_the_password_that_nodes_have(self):
        self.goes_on()

    def test_who_may_only_use_forges_nothing(self):
        answer = self.merge(self.a, "the user's", self.cluster_id, "b", 99, b"")
        self.assertTrue(str(answer).startswith("NOPERM") or "admin" in str(answer), answer)
        self.assertIn("NOAUTH", str(self.a.ask("STORE", "MERGE", self.cluster_id, "b", 99, b"")))

    def test_what_cannot_be_meant_changes_nothing(self):
        self.goes_on()
        for words, reason in (((7, "b", 1, b""), "another cluster"), ((self.cluster_id, "a", 1, b""), "this node itself"),
                              ((self.cluster_id, "", 1, b""), "no name of a node"),
                              ((self.cluster_id, "x\0y", 1, b""), "no name of a node"),
                              ((self.cluster_id, "b", 1, b"\xff" * 100), "cannot be read"),
                              ((self.cluster_id, "b", 1, b"\x04hits"), "cannot be read"),
                              ((self.cluster_id, "b", "x", b""), "not an integer"), ((self.cluster_id,), "arguments")):
            with self.subTest(words=words):
                self.assertIn(reason, str(self.merge(self.a, "the admin's", *words)))
        self.assertEqual(self.ask(self.a, "KEYS", "*"), [b"hits"])
        self.goes_on()

    def test_a_plain_server_takes_none(self):
        self.assertIn("no node of a cluster", str(self.cluster.shared.ask("STORE", "MERGE", 1, "b", 1, b"")))

    def test_a_node_with_another_password_gets_none_and_says_why(self):
        stranger = Node(self.cluster, "c", flags=("--password", "another")).start()
        self.assertIn("refused the password", stranger.server.wait_for_event("counters cannot be exchanged")["reason"])
        self.goes_on()
        with stranger.server.resp() as client:
            client.ask("AUTH", "another")
            self.assertEqual(client.ask("GET", "hits"), None)


class Passwords(unittest.TestCase):
    """The password that allows everything is replaced, at one node after the other."""

    def setUp(self):
        self.cluster = Cluster(self)
        self.nodes = {}
        for name in ("a", "b"):
            self.write(name, "old")
            self.nodes[name] = Node(self.cluster, name, flags=("--password-file", self.file(name))).start()
        self.count = 0

    def file(self, name):
        return self.cluster.folder / f"password-{name}"

    def write(self, name, *passwords):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write("\n".join(passwords))

    def replace(self, name, *passwords):
        """Of one node, which runs on; returns when it goes by them."""
        self.write(name, *passwords)
        node = self.nodes[name]
        node.signal(signal.SIGHUP)

        def is_known():
            with node.server.resp() as client:
                return client.ask("AUTH", passwords[0]) == harness.Simple("OK")

        harness.wait_until(is_known, f"that {name} knows its new password")

    def ask(self, name, password, *words):
        with self.nodes[name].server.resp() as client:
            self.assertEqual(client.ask("AUTH", password), harness.Simple("OK"))
            return client.ask(*words)

    def both_count(self, of_a, of_b):
        for name, own, other, others in (("a", of_a, "b", of_b), ("b", of_b, "a", of_a)):
            self.count += 1
            self.ask(name, own, "INCR", "hits")
            harness.wait_until(lambda other=other, others=others: self.ask(other, others, "GET", "hits") == b"%d" % self.count,
                               f"that the counter of {name} is at {other}")

    def both_know_of_shares(self, of_a, of_b):
        """What a node has is held in the shared store, for all that is known of it without asking that node."""
        def takes_and_is_known(taker, own, asker, others):
            self.assertEqual(self.ask(taker, own, "TAKE", "api", "k")[0], 1)
            return self.ask(asker, others, "USAGE", "api", "k")[1] == 0

        for words in (("a", of_a, "b", of_b), ("b", of_b, "a", of_a)):
            harness.wait_until(lambda words=words: takes_and_is_known(*words), f"that {words[2]} hears of {words[0]}")

    def test_nodes_ask_each_other_for_shares_all_the_while(self):
        limit = "LIMIT SET api WINDOW 100000 PER 366d SCOPE escrow".split()
        self.assertTrue(str(self.ask("a", "old", *limit)).startswith("OK"))
        self.both_know_of_shares("old", "old")
        self.replace("a", "new", "old")
        self.both_know_of_shares("new", "old")
        self.replace("b", "new", "old")
        self.both_know_of_shares("new", "new")
        self.replace("a", "new")
        self.replace("b", "new")
        self.both_know_of_shares("new", "new")

    def test_counters_travel_all_the_while(self):
        self.both_count("old", "old")
        self.replace("a", "new", "old")
        self.both_count("new", "old")
        self.replace("b", "new", "old")
        self.both_count("new", "new")
        self.replace("a", "new")
        self.both_count("new", "new")
        self.replace("b", "new")
        self.both_count("new", "new")

    def test_a_start_with_two_passwords_is_let_in_by_either(self):
        self.replace("a", "new", "old")
        self.nodes["b"].stop()
        self.write("b", "other", "old")
        self.nodes["b"].start()
        self.replace("a", "new", "other")
        self.both_count("new", "other")


class ForeignRecords(unittest.TestCase):
    """What others write over the records that nodes keep in a Redis ends no node, neither one that runs nor one that starts."""

    BAD = ("text", "-1", str(2**64), "", "x" * (1 << 20))
    SPOIL = """
      if redis.call('TYPE', KEYS[1]).ok == 'hash' then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
      else redis.call('SET', KEYS[1], ARGV[2]) end
    """

    def setUp(self):
        self.test = self  # of nodes, as a Cluster has it
        self.folder = harness.Folder(self)
        self.redis = redis_server.Redis(self)
        self.url = self.redis.url()
        self.node = Node(self, "a").start()
        for name, rule in (("api", WINDOW), ("stock", STOCK)):
            harness.wait_until(lambda name=name, rule=rule: "OK" in str(self.node.line(f"LIMIT SET {name} {rule}")), name)
            self.assertEqual(self.node.line(f"TAKE {name} k")[0], 1)
        self.started = 0
        turn = os.environ.get("METE_TEST_TURN")
        self.turn = int(turn) if turn else random.randrange(len(self.BAD))
        print(f"values from METE_TEST_TURN={self.turn} on", flush=True)

    def records(self):
        """Names of keys, with each of their fields; of a string with one that is none."""
        for key in self.redis.client.ask("KEYS", "mete*"):
            is_hash = self.redis.client.ask("TYPE", key) == "hash"
            for field in self.redis.client.ask("HKEYS", key) if is_hash else [b""]:
                yield key, field

    def try_everything(self):
        for words in ("TAKE api k", "TAKE stock k", "TAKE api new", "USAGE stock k", "CLUSTER INFO", "CLUSTER NODES", "LIMIT LIST"):
            self.node.line(words)  # whatever it answers
        self.started += 1
        other = Node(self, f"n{self.started}")
        try:
            other.start()
        except AssertionError as refusal:
            status = re.search(r"the server ended with (-?[0-9]+) at its start", str(refusal))
            self.assertIsNotNone(status, refusal)
            self.assertGreater(int(status[1]), 0, refusal)
        else:
            self.assertEqual(other.stop(), 0)

    def test_end_no_node(self):
        records = sorted(self.records())
        self.assertGreater(len(records), 10)
        for number, (key, field) in enumerate(records):
            bad = self.BAD[(self.turn + number) % len(self.BAD)]
            with self.subTest(key=key, field=field, bad=bad[:30]):
                before = self.redis.client.ask("DUMP", key)
                self.redis.client.ask("EVAL", self.SPOIL, 1, key, field, bad)
                self.try_everything()
                self.assertTrue(self.node.server.is_running(), self.node.server.log()[-2000:])
                if before is not None:
                    self.redis.client.ask("RESTORE", key, 0, before, "REPLACE")


if __name__ == "__main__":
    harness.main()
