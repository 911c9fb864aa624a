#!/usr/bin/env python3
"""A store that plain servers have used, and that nodes share from then on: Redis and PostgreSQL."""

import unittest

import harness
from cluster import Node
from postgres import Postgres
from redis_server import Redis


class FromStoreToCluster:
    """What servers with --store have left there is used, re-scoped, redefined and deleted by nodes."""

    def setUp(self):
        self.test = self
        self.folder = harness.Folder(self)
        self.url = self.store_url()
        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "off", "--store", self.url, listen=False)
        for name, rule in (("window", "WINDOW 100 PER 366d"), ("stock", "STOCK 100"), ("year", "CALENDAR 100 PER year")):
            self.assertEqual(server.ask("LIMIT", "SET", name, *rule.split()), "OK")
            self.assertEqual(server.ask("TAKE", name, "k", "COST", 40)[:2], [1, 60])
        self.leave_keys(server)
        server.stop()
        self.nodes = [Node(self, name).start() for name in ("a", "b")]

    def leave_keys(self, server):
        pass

    def heard_at(self, node, name, scope):
        """A limit of scope node tells no scope."""
        def is_heard():
            told = str(node.ask("LIMIT", "GET", name))
            return "scope" not in told if scope == "node" else scope in told

        harness.wait_until(is_heard, f"{name} of scope {scope} at {node.name}")

    def test_limits_are_used_rescoped_redefined_and_deleted(self):
        a, b = self.nodes
        for name, rule in (("window", "WINDOW {} PER 366d"), ("stock", "STOCK {}"), ("year", "CALENDAR {} PER year")):
            with self.subTest(name):
                self.assertIn(name, str(a.ask("LIMIT", "LIST")))
                self.assertEqual(a.ask("TAKE", name, "k", "COST", 10)[:2], [1, 50])
                self.assertEqual(b.ask("TAKE", name, "k", "COST", 10)[:2], [1, 40], "one limit for all nodes")
                for scope in ("escrow", "shared", "node", "escrow"):
                    self.assertEqual(str(a.ask("LIMIT", "SET", name, *rule.format(100).split(), "SCOPE", scope)).split()[0],
                                     "OK", scope)
                    self.heard_at(b, name, scope)
                    self.assertEqual(b.ask("TAKE", name, "k", "COST", 5)[0], 1, scope)
                # 80 are used.
                self.assertEqual(str(a.ask("LIMIT", "SET", name, *rule.format(90).split(), "SCOPE", "escrow")).split()[0], "OK")
                self.assertEqual(a.ask("TAKE", name, "k", "COST", 11)[0], 0)
                harness.wait_until(lambda name=name: a.ask("TAKE", name, "k", "COST", 10)[0] == 1, "the last ten")
                self.assertEqual([node.ask("TAKE", name, "k")[0] for node in self.nodes], [0, 0])
                self.assertEqual(b.ask("LIMIT", "DEL", name), 1)
                harness.wait_until(lambda name=name: "NOLIMIT" in str(a.ask("TAKE", name, "k")), "its end")


class OnRedis(FromStoreToCluster, unittest.TestCase):
    def store_url(self):
        return Redis(self).url()

    def leave_keys(self, server):
        self.assertEqual(server.ask("INCRBY", "visits", 7), 7)

    def test_counters_stay_where_they_are_and_a_node_says_so(self):
        a, b = self.nodes
        self.assertIn("counters, throttles or quotas of its own, which nodes do not see", a.server.log())
        self.assertIn("visits", a.server.log())
        self.assertEqual(a.ask("GET", "visits"), None)
        self.assertEqual(a.ask("SET", "visits", 7), "OK")
        harness.wait_until(lambda: b.ask("GET", "visits") == b"7", "that it is at the other node")


class OnPostgres(FromStoreToCluster, unittest.TestCase):
    def store_url(self):
        postgres = Postgres(harness.free_port())
        self.enterContext(postgres)
        harness.run(harness.program, "migrate", postgres.url)
        return postgres.url


if __name__ == "__main__":
    harness.main()
