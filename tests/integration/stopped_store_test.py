#!/usr/bin/env python3
"""A store that is stopped, and does not answer: whoever needs it waits, nobody else does, and all are answered when it goes on."""

import signal
import unittest

import harness
import redis_server

# What needs the store; of each, several clients ask at the same time. Nobody knows the limit `new`: it may have been defined elsewhere.
NEEDS_THE_STORE = ("TAKE there k", "TAKE new k", "LIMIT SET more STOCK 5", "LIMIT GET new", "LIMIT LIST", "USAGE there k",
                   "HOLD there k TTL 1h", "HOLDS there k", "SCAN there 0", "LIMIT DEL gone", "INFO")
CLIENTS_OF_EACH = 3


class Keeper:
    """A Mete server that keeps limits for others."""

    def __init__(self, test):
        self.server = harness.Server(test, "--resp", "127.0.0.1:0", "--http", "off", listen=False)

    def pause(self):
        self.server.signal(signal.SIGSTOP)

    def go_on(self):
        self.server.signal(signal.SIGCONT)

    def url(self):
        return f"mete://127.0.0.1:{self.server.resp_port}?timeout=20s"


class StoppedStore(unittest.TestCase):
    def check(self, store, flags, scope=""):
        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--threads", "1", *flags, listen=False)
        self.addCleanup(store.go_on)  # before the server ends, which gives back what it has
        harness.wait_until(lambda: server.ask("PING") == "PONG", "that the server is ready")
        self.assertEqual(server.resp().line(f"LIMIT SET there WINDOW 1000 PER 366d{scope}"), "OK")
        clients = [(server.resp(), text) for text in NEEDS_THE_STORE for _ in range(CLIENTS_OF_EACH)]
        others = server.resp(), server.http()
        store.pause()
        for client, text in clients:
            client.send(harness.encode(*text.split()))
        # The store answers nobody before it goes on, so that each of these is answered while all the others wait.
        for _ in range(3):
            self.assertEqual(others[0].ask("PING"), "PONG")
            self.assertEqual(harness.ask_http(others[1], "GET", "/healthz").status, 200)
        store.go_on()
        for client, text in clients:
            self.assertNotEqual(getattr(client.reply(), "code", ""), "UNAVAILABLE", text)

    def test_redis(self):
        store = redis_server.Redis(self)
        self.check(store, ("--store", store.url()))

    def test_another_server(self):
        store = Keeper(self)
        self.check(store, ("--store", store.url()))

    def test_that_nodes_share(self):
        for scope in ("shared", "escrow"):
            with self.subTest(scope=scope):
                store = redis_server.Redis(self)
                flags = ("--escrow-shared", store.url(), "--escrow-node", "a", "--data", harness.Folder(self) / "data")
                self.check(store, flags, f" SCOPE {scope}")


if __name__ == "__main__":
    harness.main()
