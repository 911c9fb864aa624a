#!/usr/bin/env python3
"""A store elsewhere that goes away, comes back, or comes back empty; and what a server tells of it."""

import json
import signal
import socket
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

LIMITS = '[[limit]]\nname = "api"\nkind = "stock"\namount = 10\n'


class Turnstile:
    """Listens where nobody listens any more, counts who comes, and shuts the door."""

    def __init__(self, test, port):
        self.count = 0
        self.socket = harness.wait_until(lambda: self._listen(port), "a free port")
        test.addCleanup(self.socket.close)
        threading.Thread(target=self._run, daemon=True).start()

    @staticmethod
    def _listen(port):
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            return None

    def _run(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            client.close()


class OutageOfAStore:
    """Of a store at self.url, whose port is self.port: silence() and go_on() make it silent for a while, and kill() ends it."""

    def setUp(self):
        self.start_store()
        self.config = harness.Folder(self).write("mete.toml", LIMITS)

    def start(self, *flags):
        return harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", self.url, "--config",
                              self.config, *flags, listen=False)

    def ready(self, server):
        return harness.ask_http(server.http(), "GET", "/readyz")

    def test_it_begins_and_ends_with_a_line(self):
        server = self.start()
        self.assertEqual(server.ask("TAKE", "api", "k")[0], 1)
        self.assertEqual(self.ready(server).status, 200)
        self.silence()
        for _ in range(3):
            self.assertEqual(server.ask("TAKE", "api", "k").code, "UNAVAILABLE")
        self.assertIn("127.0.0.1", server.wait_for_event("the store is away")["store"])
        self.assertEqual(self.ready(server).status, 503)
        metrics = harness.ask_http(server.http(), "GET", "/metrics").body.decode()
        self.assertIn("\nmete_store_reachable 0\n", metrics)
        self.assertIn("\nmete_store_outages_total 1\n", metrics)
        self.assertNotIn("\nmete_limits ", metrics)
        self.go_on()
        back = server.wait_for_event("the store is back")
        self.assertGreaterEqual(back["refused"], 3)
        self.assertGreater(back["away_ms"], 0)
        harness.wait_until(lambda: self.ready(server).status == 200, "that it is ready")
        self.assertEqual(server.log().count("the store is away"), 1)
        self.assertIn("\nmete_limits 1\n", harness.ask_http(server.http(), "GET", "/metrics").body.decode())

    def test_an_idle_server_leaves_it_alone(self):
        server = self.start()
        self.kill()
        turnstile = Turnstile(self, self.port)
        server.wait_for_event("the store is away")
        before = turnstile.count
        time.sleep(2)  # it is this time that is measured
        # A look a second, one that asks for the limits every half one, and as often one who finds out for all.
        self.assertLess(turnstile.count - before, 40)


class OutageOfPostgres(OutageOfAStore, unittest.TestCase):
    def start_store(self):
        self.postgres = self.enterContext(postgres.Postgres(harness.free_port()))
        self.port = self.postgres.port
        harness.run(harness.program, "migrate", self.postgres.url)
        self.url = self.postgres.url.replace("timeout=20s", "timeout=300ms")

    def silence(self):
        self.postgres.signal(signal.SIGSTOP)

    def go_on(self):
        self.postgres.signal(signal.SIGCONT)

    def kill(self):
        self.postgres.stop()


class OutageOfEtcd(OutageOfAStore, unittest.TestCase):
    def start_store(self):
        self.etcd = etcd_server.Etcd(self)
        self.port, self.url = self.etcd.port, self.etcd.url("300ms")

    def silence(self):
        self.etcd.pause()

    def go_on(self):
        self.etcd.go_on()

    def kill(self):
        self.etcd.kill()


class OutageOfAServer(OutageOfAStore, unittest.TestCase):
    def start_store(self):
        self.keeper = harness.Server(self)
        self.port = self.keeper.resp_port
        self.url = f"mete://127.0.0.1:{self.port}?timeout=300ms"

    def silence(self):
        self.keeper.signal(signal.SIGSTOP)

    def go_on(self):
        self.keeper.signal(signal.SIGCONT)

    def kill(self):
        self.keeper.kill()


class Outage(OutageOfAStore, unittest.TestCase):
    def start_store(self):
        self.redis = redis_server.Redis(self)
        self.port = self.redis.port
        self.url = f"redis://127.0.0.1:{self.port}?timeout=300ms"

    def silence(self):
        self.redis.pause()

    def go_on(self):
        self.redis.go_on()

    def kill(self):
        self.redis.kill()

    def test_what_is_admitted_meanwhile_is_marked(self):
        server = self.start("--grpc", "127.0.0.1:0")
        self.assertEqual(server.ask("LIMIT", "SET", "open", "WINDOW", "5", "PER", "1h", "ONFAIL", "open"), "OK")
        take = {"charges": [{"limit": "open", "key": "k"}]}
        two = {"charges": [{"limit": "open", "key": "k"}, {"limit": "open", "key": "other"}]}
        many = [take, {**take, "id": "once"}, {**take, "mode": "up_to"}, two]
        ask = lambda path, body: harness.ask_http(server.http(), "POST", path, body)
        grpc = grpc_test.Client(self, f"127.0.0.1:{server.grpc_port}")

        def told_by_program():
            words = ("take", "open", "k", "--json", "--server", f"127.0.0.1:{server.resp_port}")
            return json.loads(harness.run(harness.program, *words).stdout)

        answer = ask("/v1/take", take)
        self.assertNotIn("mete-unrecorded", answer.headers)
        for decision in (json.loads(answer.body), told_by_program(), *json.loads(ask("/v1/takes", [take]).body)):
            self.assertTrue(decision["allowed"])
            self.assertNotIn("unrecorded", decision)
        self.assertFalse(grpc.call("Take", **take)["unrecorded"])
        self.redis.pause()
        answer = ask("/v1/take", take)
        self.assertEqual((answer.status, answer.headers.get("mete-unrecorded")), (200, "1"))
        for decision in (json.loads(answer.body), told_by_program(), *json.loads(ask("/v1/takes", many).body)):
            self.assertEqual((decision["allowed"], decision["unrecorded"]), (True, True), decision)
        self.assertTrue(grpc.call("Take", **take)["unrecorded"])
        for answer in grpc.stream("Takes", [take, two]):
            self.assertTrue(answer["decision"]["unrecorded"], answer)

    def test_a_start_can_wait(self):
        port = harness.free_port()
        self.url = f"redis://127.0.0.1:{port}?timeout=300ms"
        started = []
        thread = threading.Thread(target=lambda: started.append(self.start("--store-wait", "60s")))
        thread.start()
        time.sleep(1)  # it must have tried
        redis_server.Redis(self, port=port)
        thread.join()
        self.assertEqual(started[0].ask("TAKE", "api", "k")[0], 1)
        self.assertIn("waiting for the store", started[0].log())

    def test_a_start_can_wait_for_one_of_several_servers(self):
        """Whichever has what the start looks for first."""
        for late in (0, 1):
            with self.subTest(late=late):
                ports = [harness.free_port(), harness.free_port()]
                serve = lambda number: harness.Server(self, "--resp", f"127.0.0.1:{ports[number]}", "--http", "off", "--data", "",
                                                      listen=False)
                there = serve(1 - late)
                self.url = "mete://" + ",".join(f"127.0.0.1:{port}" for port in ports) + "?timeout=300ms"
                started = []
                thread = threading.Thread(target=lambda: started.append(self.start("--store-wait", "60s")))
                thread.start()
                time.sleep(1)  # it must have tried
                also_there = serve(late)
                thread.join()
                self.assertEqual(started[0].ask("TAKE", "api", "k")[0], 1)
                for server in (started[0], there, also_there):
                    server.kill()

    def test_without_waiting_a_start_fails(self):
        result = harness.run(harness.program, "serve", "--store", f"redis://127.0.0.1:{harness.free_port()}",
                             "--resp", "127.0.0.1:0", "--http", "off", check=False)
        self.assertNotEqual(result.returncode, 0)

    def test_a_wiped_store_is_noticed(self):
        server = self.start()
        self.assertEqual(server.ask("TAKE", "api", "k", "COST", "4")[1], 6)
        self.redis.client.line("FLUSHALL")
        self.assertEqual(server.wait_for_event("the store has lost its state")["reason"], "it has forgotten everything")
        self.assertEqual(server.wait_for_event("the limits of the configuration are defined again")["added"], "api")
        self.assertEqual(server.ask("LIMIT", "LIST"), [b"api"])
        refused = server.ask("TAKE", "api", "k")
        self.assertEqual(refused.code, "UNAVAILABLE")
        self.assertIn("store.when_wiped", str(refused))
        self.assertEqual(self.ready(server).status, 503)
        metrics = harness.ask_http(server.http(), "GET", "/metrics").body.decode()
        self.assertIn("\nmete_store_losses_total 1\n", metrics)
        self.assertIn("\nmete_store_closed 1\n", metrics)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write('[store]\nwhen_wiped = "fresh"\n' + LIMITS)
        server.wait_for_event("configuration reloaded")
        self.assertEqual(server.ask("TAKE", "api", "k")[1], 9)
        self.assertEqual(self.ready(server).status, 200)

    def test_a_wiped_store_can_be_gone_on_with(self):
        server = self.start("--when-wiped", "fresh")
        self.assertEqual(server.ask("TAKE", "api", "k", "COST", "4")[1], 6)
        self.redis.kill()
        redis_server.Redis(self, port=self.redis.port)
        server.wait_for_event("the store has lost its state")
        server.wait_for_event("the limits of the configuration are defined again")
        self.assertEqual(server.ask("TAKE", "api", "k")[1], 9)

    def test_a_loss_outlives_a_restart(self):
        server = self.start()
        self.assertEqual(server.ask("TAKE", "api", "k")[1], 9)
        self.redis.client.line("FLUSHALL")
        server.wait_for_event("the limits of the configuration are defined again")
        other = self.start()
        self.assertEqual(other.ask("TAKE", "api", "k").code, "UNAVAILABLE")
        self.assertEqual(server.stop(), 0)
        server = self.start()
        self.assertEqual(server.ask("TAKE", "api", "k").code, "UNAVAILABLE")
        self.assertEqual(self.ready(server).status, 503)
        self.assertEqual(other.ask("CONFIG", "SET", "store.when_wiped", "fresh"), "OK")
        self.assertEqual(other.ask("TAKE", "api", "k")[1], 9)
        server.wait_for_event("nothing is refused any more for what the store has lost")
        self.assertEqual(server.ask("TAKE", "api", "k")[1], 8)

    def test_takes_that_come_together_are_refused_each_for_itself(self):
        with open(self.config, "a", encoding="utf-8") as file:
            file.write('[[limit]]\nname = "fast"\nkind = "window"\namount = 100\nperiod = "1s"\n')
        server = self.start()
        with server.resp() as client:
            self.assertEqual(client.line("TAKE fast k")[0], 1)
            self.redis.client.line("FLUSHALL")
            server.wait_for_event("the limits of the configuration are defined again")
            harness.wait_until(lambda: not isinstance(client.line("TAKE fast k"), harness.Failure), "that its window is over")
            client.send(b"".join(harness.encode("TAKE", limit, "k") for limit in ("fast", "api") * 3))
            answers = [client.reply() for _ in range(6)]
        self.assertEqual([answer[0] for answer in answers[0::2]], [1] * 3)
        self.assertEqual([answer.code for answer in answers[1::2]], ["UNAVAILABLE"] * 3)

    def test_a_reload_is_done_when_it_is_back(self):
        server = self.start()
        self.redis.pause()
        with open(self.config, "a", encoding="utf-8") as file:
            file.write('[[limit]]\nname = "new"\nkind = "stock"\namount = 3\n')
        server.wait_for_event("configuration not reloaded yet: it is tried again when the store answers")
        self.redis.go_on()
        self.assertEqual(server.wait_for_event("configuration reloaded")["added"], "new")
        self.assertEqual(server.ask("TAKE", "new", "k")[1], 2)

    def test_short_outages_admit_one_share_together(self):
        server = self.start()
        self.assertEqual(server.ask("LIMIT", "SET", "mine", *"WINDOW 100 PER 366d ONFAIL local".split()), "OK")
        self.assertEqual(server.ask("TAKE", "mine", "k")[1], 99)
        admitted = 0
        for _ in range(3):
            self.redis.pause()
            admitted += sum(server.ask("TAKE", "mine", "k")[0] for _ in range(14))
            self.redis.go_on()
            harness.wait_until(lambda: b"\nmete_fail_local_unsettled_meters 0\n" in
                               harness.ask_http(server.http(), "GET", "/metrics").body, "that the store has been told")
        self.assertEqual(admitted, 10)

    def test_a_share_of_the_limit_decides_meanwhile(self):
        server = self.start()
        self.assertEqual(server.ask("LIMIT", "SET", "mine", *"WINDOW 100 PER 366d ONFAIL local".split()), "OK")
        self.assertEqual(server.ask("TAKE", "mine", "k")[1], 99)
        self.redis.pause()
        answers = [server.ask("TAKE", "mine", "k") for _ in range(12)]
        self.assertEqual([answer[0] for answer in answers], [1] * 10 + [0] * 2)
        self.assertEqual(answers[0][1:3], [9, 10])
        self.assertEqual(server.ask("TAKE", "api", "k").code, "UNAVAILABLE")
        metrics = harness.ask_http(server.http(), "GET", "/metrics").body.decode()
        self.assertIn("\nmete_fail_local_admissions_total 10\n", metrics)
        self.assertIn("\nmete_fail_local_denials_total 2\n", metrics)
        self.redis.go_on()

        def used():
            usage = server.ask("USAGE", "mine", "k")
            return not isinstance(usage, harness.Failure) and usage[0]

        # The take that found it silent had left, and happens when it goes on: who gave no id cannot know.
        harness.wait_until(lambda: used() in (11, 12), "that the store has been told")
        self.assertIn(b"\nmete_fail_local_unsettled_meters 0\n", harness.ask_http(server.http(), "GET", "/metrics").body)


class Node(unittest.TestCase):
    def setUp(self):
        self.redis = redis_server.Redis(self)
        self.server = harness.Server(
            self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", harness.Folder(self) / "data", "--escrow-shared",
            f"redis://127.0.0.1:{self.redis.port}?timeout=300ms", "--escrow-node", "a", listen=False)
        self.assertEqual(self.readiness(), 200)

    def readiness(self):
        return harness.ask_http(self.server.http(), "GET", "/readyz").status

    def test_an_outage_of_the_shared_store_is_told(self):
        self.redis.pause()
        self.server.wait_for_event("the store is away")
        self.redis.go_on()
        self.server.wait_for_event("the store is back")

    def test_that_was_halted_is_not_ready(self):
        self.redis.client.line("FLUSHALL")
        self.server.wait_for_event("no more shares are drawn")
        harness.wait_until(lambda: self.readiness() == 503, "that it is not ready")


if __name__ == "__main__":
    harness.main()
