#!/usr/bin/env python3
"""Takes of a stock in pipelines of 64 through a server on Redis, while scripts are lost, limits change, connections are cut and Redis
stands still: what fails is what was under way when an answer was lost, says so, and is at most what it may have charged."""

import threading
import unittest

import harness
import redis_server

CONNECTIONS = 6
PIPELINE = 64
TIMES = 12  # of each disturbance
TIMEOUT_S = 0.25  # of a call of Redis, as it is where no URL says otherwise


class Takers:
    """Takes on keys of their own, until they are stopped."""

    def __init__(self, server):
        self.takes, self.failures, self.rounds = 0, [], 0
        self._lock = threading.Lock()
        self._is_stopping = threading.Event()
        self._threads = [threading.Thread(target=self._take, args=(server.resp(), f"k{index}")) for index in range(CONNECTIONS)]
        for thread in self._threads:
            thread.start()

    def _take(self, client, key):
        pipeline = harness.encode("TAKE", "stock", key) * PIPELINE
        while not self._is_stopping.is_set():
            client.send(pipeline)
            replies = [client.reply() for _ in range(PIPELINE)]
            failures = [reply for reply in replies if isinstance(reply, harness.Failure)]
            with self._lock:
                self.takes += PIPELINE - len(failures)
                self.failures += failures
                self.rounds += 1

    def go_on(self, rounds=2 * CONNECTIONS):
        """Until each has made some more."""
        wanted = self.rounds + rounds
        harness.wait_until(lambda: self.rounds >= wanted, "more takes")

    def stop(self):
        self._is_stopping.set()
        for thread in self._threads:
            thread.join()


class RedisPipeline(unittest.TestCase):
    def setUp(self):
        self.redis = redis_server.Redis(self)
        self.server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "off", "--store",
                                     f"redis://127.0.0.1:{self.redis.port}?timeout={int(TIMEOUT_S * 1000)}ms", listen=False)
        self.resp = self.server.resp()
        harness.wait_until(lambda: self.resp.line("LIMIT SET stock STOCK 1000000000") == "OK", "that the server is ready")

    def disturb(self, disturbance):
        takers = Takers(self.server)
        try:
            for number in range(TIMES):
                takers.go_on()
                disturbance(number)
            harness.wait_until(lambda: self.resp.line("PEEK stock other")[0] == 1, "that the store is back")
            takers.go_on()
        finally:
            takers.stop()
        used = sum(self.resp.ask("USAGE", "stock", f"k{index}")[0] for index in range(CONNECTIONS))
        self.assertGreaterEqual(used, takers.takes)
        self.assertLessEqual(used, takers.takes + len(takers.failures))
        self.assertEqual({failure.code for failure in takers.failures} - {"UNAVAILABLE"}, set())
        return takers

    def test_scripts_that_are_lost_and_limits_that_change_fail_nothing(self):
        def disturbance(number):
            self.redis.client.ask("SCRIPT", "FLUSH")
            self.resp.line(f"LIMIT SET stock STOCK {1000000000 + number}")
        self.assertEqual(self.disturb(disturbance).failures[:1], [])

    def test_a_connection_that_is_cut_fails_what_is_under_way(self):
        takers = self.disturb(lambda number: self.redis.client.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
        self.assertLessEqual(len(takers.failures), TIMES * CONNECTIONS * PIPELINE)
        for failure in takers.failures:
            self.assertIn("whether the command was carried out is not known", failure)

    def test_a_redis_that_stands_still_fails_takes_until_it_goes_on(self):
        def disturbance(number):
            if number < 3:
                self.redis.pause()
                self.addCleanup(self.redis.go_on)
                harness.wait_until(lambda: self.server.ask("PEEK", "stock", "other").startswith("UNAVAILABLE"), "that a call is given up")
                self.redis.go_on()
                harness.wait_until(lambda: self.resp.line("PEEK stock other")[0] == 1, "that it goes on")
        takers = self.disturb(disturbance)
        self.assertTrue(any("no answer within 250ms" in failure for failure in takers.failures), takers.failures[:1])


if __name__ == "__main__":
    harness.main()
