#!/usr/bin/env python3
"""A store that is stopped, and does not answer: whoever needs it waits, nobody else does, and all are answered when it goes on."""

import signal
import unittest

import etcd_server
import harness
import redis_server
from postgres import Postgres

# What needs the store; of each, several clients ask at the same time. Nobody knows the limit `new`: it may have been defined elsewhere.
NEEDS_THE_STORE = ("TAKE there k", "TAKE new k", "LIMIT SET more STOCK 5", "LIMIT GET new", "LIMIT LIST", "USAGE there k",
                   "HOLD there k TTL 1h", "HOLDS there k", "SCAN there 0", "LIMIT DEL gone", "INFO")
CLIENTS_OF_EACH = 3
# What a node does by itself, and how; {0} tells the times apart. All of it is slow work beside the event loops.
NEEDS_NO_STORE = ("LIMIT SET own{0} STOCK 5 SCOPE node", "TAKE own{0} k", "HOLDS own{0} k", "LIMIT DEL own{0}", "SAVE")


LIMITS = 200
RELOADS = 12


def text(element):
    return element.decode() if isinstance(element, bytes) else str(element)


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

    def commands(self):
        """How many it has carried out."""
        return int(self.server.ask("INFO", "stats").decode().split("total_commands_processed:")[1].split()[0])


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
        for time in range(3):
            self.assertEqual(others[0].ask("PING"), "PONG")
            self.assertEqual(harness.ask_http(others[1], "GET", "/healthz").status, 200)
            if scope:
                self.work_alone(time, *others)
        store.go_on()
        for client, text in clients:
            self.assertNotEqual(getattr(client.reply(), "code", ""), "UNAVAILABLE", text)

    def work_alone(self, time, resp, http):
        for text in NEEDS_NO_STORE:
            self.assertNotIsInstance(resp.line(text.format(time)), harness.Failure, text)
        # Whether a limit is new the shared store alone knows, and PUT tells.
        self.assertEqual(resp.line(f"LIMIT SET http{time} STOCK 4 SCOPE node"), "OK")
        limit = {"kind": "stock", "amount": 5, "scope": "node"}
        for method, path, body, status in (("PUT", f"/v1/limits/http{time}", limit, 200),
                                           ("GET", f"/v1/holds?limit=http{time}&key=k", None, 200),
                                           ("DELETE", f"/v1/limits/http{time}", None, 204)):
            self.assertEqual(harness.ask_http(http, method, path, body).status, status, path)

    def test_redis(self):
        for kind in (redis_server.Redis, redis_server.RedisCluster):
            with self.subTest(kind=kind.__name__):
                store = kind(self)
                self.check(store, ("--store", store.url()))

    def test_postgres(self):
        store = self.enterContext(Postgres(harness.free_port()))
        harness.run(harness.program, "migrate", store.url)
        self.check(store, ("--store", store.url))

    def test_etcd(self):
        store = etcd_server.Etcd(self)
        self.check(store, ("--store", store.url()))

    def test_reloads_that_come_meanwhile_are_one_more(self):
        store = Keeper(self)
        folder = harness.Folder(self)

        def configure(amount):
            limits = (f'[[limit]]\nname = "limit{number}"\nkind = "stock"\namount = {amount}\n' for number in range(LIMITS))
            return folder.write("mete.toml", "\n".join(limits))

        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "off", "--threads", "1", "--store", store.url(),
                                "--config", configure(1), listen=False)
        self.addCleanup(store.go_on)
        server.wait_for_event("ready")
        before = store.commands()
        store.pause()
        for amount in range(2, 2 + RELOADS):
            configure(amount)
            server.signal(signal.SIGHUP)
            self.assertEqual(server.ask("PING"), "PONG")
        store.go_on()
        is_last = lambda: f"amount\n{1 + RELOADS}" in "\n".join(map(text, server.ask("LIMIT", "GET", "limit0")))
        harness.wait_until(is_last, "that the last configuration is in effect")
        # A reload looks each limit up and defines it; the first was under way, and those that came meanwhile are one more.
        # What they would be one after the other is several times that.
        self.assertLess(store.commands() - before, 2 * 2 * LIMITS + (RELOADS - 2) * LIMITS / 2)

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
