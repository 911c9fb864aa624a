#!/usr/bin/env python3
"""Several nodes over one shared server, as they are used: shares, quotas and counters; nodes and the shared server killed,
stopped and paused. What is refused is in cluster_bad_input_test.py."""

import signal
import threading
import time
import unittest

import harness
from cluster import AMOUNT, STOCK, WINDOW, Cluster
from harness import Simple

SOON_S = 1  # how fast nodes hear of each other's definitions and counts; waited for a while longer on a busy machine
BUSY_S = 3


def take_at_once(nodes, limit):
    """All nodes at the same time, each until it is denied; how many each was admitted."""
    counts = {}
    threads = [threading.Thread(target=lambda node=node: counts.update({node.name: node.take_all(limit)})) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)

    def soon(self, happened, what):
        harness.wait_until(happened, what, SOON_S + BUSY_S)

    def take_rest(self, nodes, limit, admitted, expected):
        """What idle shares still have comes back after some seconds; then nothing is left, and nothing was too much."""
        def is_all_taken():
            nonlocal admitted
            admitted += sum(node.take_all(limit) for node in nodes)
            return admitted >= expected

        harness.wait_until(is_all_taken, f"that all {expected} of {limit} are taken")
        self.assertEqual(admitted, expected)
        self.assertEqual([node.take_all(limit) for node in nodes], [0] * len(nodes))


class Shares(ClusterTest):
    def test_all_nodes_together_are_admitted_exactly_the_limit(self):
        nodes = self.cluster.nodes("a", "b", "c")
        for limit, rule in (("window", WINDOW), ("stock", STOCK)):
            self.cluster.define(nodes, limit, rule)
            counts = take_at_once(nodes, limit)
            self.assertLessEqual(sum(counts.values()), AMOUNT)
            self.take_rest(nodes, limit, sum(counts.values()), AMOUNT)

    def test_a_definition_reaches_the_others_and_so_does_its_end(self):
        nodes = self.cluster.nodes("a", "b", "c")
        self.assertEqual(nodes[0].line(f"LIMIT SET api {WINDOW}"), Simple("OK"))
        for node in nodes[1:]:
            self.soon(lambda node=node: node.line("LIMIT GET api") is not None, "the definition")
        self.assertEqual(nodes[2].line("TAKE api k")[0:3:2], [1, AMOUNT])
        self.assertEqual(nodes[1].line("LIMIT DEL api"), 1)
        for node in nodes:
            self.soon(lambda node=node: node.line("TAKE api k") == "NOLIMIT unknown limit 'api'", "its end")

    def test_a_request_larger_than_any_batch_is_admitted_if_it_fits(self):
        nodes = self.cluster.nodes("a", "b")
        self.cluster.define(nodes, "api", WINDOW)
        self.assertEqual(nodes[0].line("TAKE api k COST 60")[0], 1)
        self.assertEqual(nodes[1].line("TAKE api k COST 60")[0], 0)
        self.assertEqual(nodes[1].line("TAKE api k COST 101")[0:4:3], [0, -1])

    def test_the_last_unit_can_be_had_while_others_do_not_use_theirs(self):
        nodes = self.cluster.nodes("a", "b", "c")
        a, *others = nodes
        for node in nodes:
            self.soon(lambda node=node: len(node.ask("CLUSTER", "NODES")) == len(nodes), "all nodes")
        for limit, rule in (("window", WINDOW), ("stock", STOCK), ("sliding", "SLIDING 100 PER 366d SCOPE escrow")):
            with self.subTest(limit):
                self.cluster.define(nodes, limit, rule)
                taken = 0
                for node in others:
                    for _ in range(3):
                        self.assertEqual(node.ask("TAKE", limit, "k")[0], 1)
                        taken += 1
                self.assertEqual(a.take_all(limit), AMOUNT - taken)
                for node in nodes:
                    self.assertEqual(node.ask("USAGE", limit, "k")[:3], [AMOUNT, 0, 0], node.name)

    def test_nodes_do_not_contradict_each_other(self):
        nodes = self.cluster.nodes("a", "b")
        a, b = nodes
        for node in nodes:
            self.soon(lambda node=node: len(node.ask("CLUSTER", "NODES")) == len(nodes), "all nodes")
        self.cluster.define(nodes, "api", WINDOW)
        self.assertEqual(a.line("TAKE api k COST 50")[0], 1)
        self.assertEqual(b.line("TAKE api k")[0], 1)
        self.assertEqual(a.line("TAKE api k COST 40")[0], 1)
        self.assertEqual(b.line("HOLD api k COST 3 TTL 1h ID h")[0], 1)
        self.assertEqual([node.line("USAGE api k")[:3] for node in nodes], [[91, 3, 6]] * 2)

    def test_a_clean_stop_gives_everything_back_at_once(self):
        nodes = self.cluster.nodes("a", "b")
        for limit, rule in (("window", WINDOW), ("stock", STOCK)):
            self.cluster.define(nodes, limit, rule)
            for _ in range(3):
                self.assertEqual(nodes[0].ask("TAKE", limit, "k")[0], 1)
        self.assertEqual(nodes[0].stop(), 0)
        self.assertEqual(self.cluster.usage("window"), [3, 0, AMOUNT - 3])
        self.assertEqual(self.cluster.usage("stock"), [3, 0, AMOUNT - 3])
        self.assertEqual(nodes[1].take_all("window"), AMOUNT - 3)

    def test_a_node_that_was_stopped_starts_again_at_once_and_under_its_name(self):
        (node,) = self.cluster.nodes("a")
        self.assertEqual(node.stop(), 0)
        began = time.monotonic()
        node.start()
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(self.cluster.starts("a"), 2)


class Killed(ClusterTest):
    def test_the_share_of_a_stock_survives_and_no_unit_is_taken_twice(self):
        nodes = self.cluster.nodes("a", "b")
        self.cluster.define(nodes, "stock", STOCK)
        admitted = 0
        for _ in range(5):
            admitted += nodes[0].line("TAKE stock k")[0]
            nodes[0].kill()
            nodes[0].start()
        self.assertEqual(admitted, 5)
        admitted += sum(take_at_once(nodes, "stock").values())
        self.take_rest(nodes, "stock", admitted, AMOUNT)
        self.soon(lambda: self.cluster.usage("stock") == [AMOUNT, 0, 0], "that all of it is settled")

    def test_the_share_of_a_long_window_survives_and_no_unit_is_taken_twice(self):
        nodes = self.cluster.nodes("a", "b")
        self.cluster.define(nodes, "window", WINDOW)
        self.assertEqual(nodes[0].line("TAKE window k")[0], 1)
        self.assertGreater(self.cluster.usage("window")[1], 1)  # held there for its share
        nodes[0].kill()
        nodes[0].start()
        self.take_rest(nodes, "window", 1, AMOUNT)

    def test_what_was_lost_of_a_window_is_back_in_the_next(self):
        nodes = self.cluster.nodes("a", "b")
        self.cluster.define(nodes, "window", "WINDOW 100 PER 4s SCOPE escrow")
        time.sleep(4 - time.time() % 4)
        self.assertEqual(nodes[0].line("TAKE window k")[0], 1)
        nodes[0].kill()
        self.assertLess(nodes[1].take_all("window"), AMOUNT)
        time.sleep(4 - time.time() % 4)
        self.assertEqual(nodes[1].take_all("window"), AMOUNT)

    def test_it_starts_again_on_its_directory_within_seconds_as_the_next_incarnation(self):
        (node,) = self.cluster.nodes("a")
        self.assertEqual(self.cluster.starts("a"), 1)
        node.kill()
        began = time.monotonic()
        node.start()
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(self.cluster.starts("a"), 2)


class Retired(ClusterTest):
    def test_what_a_node_had_that_never_comes_back_counts_as_spent(self):
        a, b = self.cluster.nodes("a", "b")
        self.cluster.define([a, b], "stock", "STOCK 100 SCOPE escrow")
        self.assertEqual(a.line("TAKE stock k COST 3")[0], 1)
        self.assertIn("is alive", str(b.line("CLUSTER RETIRE a")))
        a.kill()
        _, held, _ = self.cluster.usage("stock")
        self.assertGreaterEqual(held, 3)
        answers = []
        harness.wait_until(lambda: answers.append(b.line("CLUSTER RETIRE a")) or isinstance(answers[-1], list),
                           "that nobody takes the node for alive any more")
        self.assertEqual(answers[-1], [1, held, 0])
        self.assertEqual(self.cluster.usage("stock")[:2], [held, 0])
        self.assertEqual(b.line("CLUSTER RETIRE a"), [0, 0, 0])
        told = harness.run(harness.program, "retire", "a", "--server", f"127.0.0.1:{b.port}")
        self.assertEqual(told.stdout, "there was nothing to settle\n")
        self.assertEqual(b.take_all("stock"), 100 - held)
        a.start()  # It comes back all the same: nothing comes back twice.
        self.assertEqual((a.take_all("stock"), b.take_all("stock")), (0, 0))
        self.soon(lambda: self.cluster.usage("stock") == [100, 0, 0], "that all of it is settled")

    def test_of_windows_as_of_stocks_and_who_may_be_retired_is_told(self):
        a, b = self.cluster.nodes("a", "b")
        self.cluster.define([a, b], "window", WINDOW)
        for key in range(20):
            self.assertEqual(a.ask("TAKE", "window", key)[0], 1)
        self.assertIn("cluster_nodes_away:\r\n", b.line("CLUSTER INFO").decode())
        a.kill()
        harness.wait_until(lambda: "cluster_nodes_away:a\r\n" in b.line("CLUSTER INFO").decode(), "that a is away")
        held = sum(self.cluster.usage("window", key)[1] for key in range(20))
        told = harness.run(harness.program, "retire", "a", "--server", f"127.0.0.1:{b.port}")
        self.assertEqual(told.stdout, f"{held} units count as spent that the node had, of 20 draws\n")
        self.assertEqual(sum(self.cluster.usage("window", key)[0] for key in range(20)), held)
        self.assertIn("cluster_nodes_away:\r\n", b.line("CLUSTER INFO").decode())

    def test_only_of_a_cluster_by_an_admin_and_by_name(self):
        self.assertIn("cluster support disabled", str(self.cluster.shared.line("CLUSTER RETIRE a")))
        (a,) = self.cluster.nodes("a")
        self.assertIn("is alive", str(a.line("CLUSTER RETIRE a")))
        self.assertIn("no name of a node", str(a.ask("CLUSTER", "RETIRE", "a b")))


class Unreachable(ClusterTest):
    """The shared server is gone, or does not answer."""

    def setUp(self):
        super().setUp()
        self.nodes = self.cluster.nodes("a", "b")
        self.cluster.define(self.nodes, "api", WINDOW)
        self.cluster.define(self.nodes, "open", WINDOW + " ONFAIL open")
        self.cluster.define(self.nodes, "stock", STOCK)
        self.shares = {limit: self.draw(limit) for limit in ("api", "open", "stock")}

    def draw(self, limit):
        """The first take draws a tenth; what is left of it."""
        self.assertEqual(self.nodes[0].ask("TAKE", limit, "k")[0], 1)
        used, held, _ = self.cluster.usage(limit)
        self.assertGreater(used + held, 1)
        return used + held - 1

    def spend_and_fail(self):
        node = self.nodes[0]
        for limit in ("api", "stock"):
            count, error = node.take_until_error(limit)
            self.assertEqual((count, error.code), (self.shares[limit], "UNAVAILABLE"), error)
        self.assertEqual(self.nodes[1].line("TAKE api k").code, "UNAVAILABLE")
        self.assertEqual({node.line("TAKE open k")[0] for _ in range(self.shares["open"] + 5)}, {1})

    def come_back(self):
        """Without a restart: a node asks again after 2 s at most."""
        for limit in ("api", "stock"):
            admitted = self.shares[limit] + 1
            for node in self.nodes:
                answers = []
                harness.wait_until(lambda: not isinstance(answers.append(node.ask("TAKE", limit, "k")) or answers[-1],
                                                          harness.Failure), "an answer")
                admitted += answers[-1][0]
            self.take_rest(self.nodes, limit, admitted, AMOUNT)

    def test_a_pause(self):
        self.cluster.shared.signal(signal.SIGSTOP)
        self.spend_and_fail()
        self.cluster.shared.signal(signal.SIGCONT)
        self.come_back()

    def test_a_kill(self):
        self.cluster.shared.kill()
        self.spend_and_fail()
        self.cluster.shared.start()
        self.come_back()


class Quotas(ClusterTest):
    def test_they_are_the_same_on_every_node(self):
        a, b, c = self.cluster.nodes("a", "b", "c")
        self.assertEqual(a.line("QUOTASET q 10 31622400"), Simple("OK"))
        for node in (b, c):
            self.soon(lambda node=node: node.line("QUOTAGET q") == [10, 31622400, 10], "the quota")
        self.assertEqual([b.line("INCR q"), c.line("INCRBY q 2"), a.line("QUOTAINCR q 10 31622400 3")], [9, 7, 4])
        self.assertEqual([node.line("QUOTAGET q")[2] for node in (a, b, c)], [4, 4, 4])
        self.assertEqual(c.line("INCRBY q 5"), -1)
        self.assertRegex(c.line("DECR q"), "^ERR ")
        self.assertEqual(b.line("INCRBY q 4"), 0)
        self.assertEqual([node.line("INCR q") for node in (a, b, c)], [-1, -1, -1])

    def test_one_that_is_set_again_is_not_refilled(self):
        a, b = self.cluster.nodes("a", "b")
        self.assertEqual(a.line("QUOTASET q 10 31622400"), Simple("OK"))
        self.assertEqual(a.line("INCRBY q 8"), 2)
        self.soon(lambda: b.line("TYPE q") == Simple("quota"), "the quota")
        self.assertEqual(b.line("QUOTASET q 10 31622400"), Simple("OK"))
        self.assertEqual(b.line("INCRBY q 3"), -1)
        self.assertEqual(a.line("QUOTASET q 20 31622400"), Simple("OK"))
        self.soon(lambda: b.line("QUOTAGET q") == [20, 31622400, 12], "the larger one")

    def test_one_that_is_deleted_stays_so_after_every_node_has_started_again(self):
        nodes = self.cluster.nodes("a", "b")
        self.assertEqual(nodes[0].line("QUOTASET q 10 31622400"), Simple("OK"))
        self.soon(lambda: nodes[1].line("TYPE q") == Simple("quota"), "the quota")
        self.assertEqual(nodes[1].line("INCR q"), 9)
        self.assertEqual(nodes[1].line("QUOTADEL q"), Simple("OK"))
        self.soon(lambda: nodes[0].line("QUOTAGET q") is None, "its end")
        for end in (lambda node: node.kill(), lambda node: node.stop()):
            for node in nodes:
                end(node)
            for node in nodes:
                node.start()
            self.assertEqual([node.line("QUOTAGET q") for node in nodes], [None, None])


class Counters(ClusterTest):
    def all_have(self, nodes, key, value):
        self.soon(lambda: [node.ask("GET", key) for node in nodes] == [value] * len(nodes), f"{key} = {value}")

    def test_they_add_up_and_end_everywhere(self):
        nodes = a, b, c = self.cluster.nodes("a", "b", "c")
        for node in nodes:
            for _ in range(5):
                self.assertNotIsInstance(node.line("INCR hits"), harness.Failure)
        self.all_have(nodes, "hits", b"15")
        b.line("DECRBY hits 20")
        self.all_have(nodes, "hits", b"-5")
        self.assertEqual(c.line("DEL hits"), 1)
        self.all_have(nodes, "hits", None)
        self.assertEqual(a.line("SET visits 7 EX 100"), Simple("OK"))
        self.all_have(nodes, "visits", b"7")
        self.assertIn(c.line("TTL visits"), range(90, 101))
        self.assertEqual(b.line("PEXPIRE visits 300"), 1)
        self.all_have(nodes, "visits", None)

    def test_a_node_that_was_killed_gets_them_all_back(self):
        nodes = a, b, c = self.cluster.nodes("a", "b", "c")
        for node in nodes:
            node.line("INCRBY hits 10")
        self.all_have(nodes, "hits", b"30")
        c.kill()
        self.assertEqual((a.line("INCR hits"), b.line("DEL gone")), (31, 0))
        c.start()
        self.all_have(nodes, "hits", b"31")
        c.line("INCRBY hits 9")
        self.all_have(nodes, "hits", b"40")

    def test_they_are_on_disk(self):
        (a,) = self.cluster.nodes("a")
        a.line("SET visits 7")
        for end in (a.stop, a.kill):
            a.line("INCR visits")
            time.sleep(2)  # what a second may lose is there by then
            end()
            a.start()
        self.assertEqual(a.line("GET visits"), b"9")
        self.assertEqual(a.line("INCR visits"), 10)

    def test_a_node_that_stood_still_converges_when_it_goes_on(self):
        nodes = a, b = self.cluster.nodes("a", "b")
        a.line("INCR hits")
        self.all_have(nodes, "hits", b"1")
        b.signal(signal.SIGSTOP)
        for _ in range(20):
            a.line("INCR hits")
        time.sleep(2)  # longer than a silent link is kept
        b.signal(signal.SIGCONT)
        b.line("INCR hits")
        self.all_have(nodes, "hits", b"22")


if __name__ == "__main__":
    harness.main()
