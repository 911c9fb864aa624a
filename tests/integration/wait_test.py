#!/usr/bin/env python3
"""TAKE … WAIT: first come, first served; bounded; nothing is lost when a client goes."""

import json
import re
import select
import signal
import time
import unittest
from pathlib import Path

import harness
from harness import Simple, encode


class Doors(unittest.TestCase):
    def start(self, *flags):
        self.server = harness.Server(self, "--threads", "3", *flags)  # The queue is one for all loops.
        self.client = self.server.resp()

    def full_stock(self, amount=1):
        self.assertEqual(self.client.line(f"LIMIT SET st STOCK {amount}"), "OK")
        self.assertEqual(self.client.line(f"TAKE st k COST {amount}")[0], 1)

    def waiting(self):
        return int(re.search(rb"blocked_clients:(\d+)", self.client.line("INFO clients"))[1])

    def wait(self, command, *behind):
        """A new client that waits; returns once the server has it in its queue."""
        before = self.waiting()
        other = self.server.resp()
        other.send(encode(*command.split()) + b"".join(encode(*words.split()) for words in behind))
        harness.wait_until(lambda: self.waiting() == before + 1, "its place in the queue")
        return other

    def assert_nobody_answered(self, clients, seconds=0.05):
        for client in clients:
            self.assertTrue(client.is_silent(seconds))


class Waiting(Doors):
    def test_first_come_first_served(self):
        self.start()
        self.full_stock()
        clients = [self.wait("TAKE st k WAIT 30s") for _ in range(5)]
        for index, client in enumerate(clients):
            self.assert_nobody_answered(clients[index:])
            self.assertEqual(self.client.line("GIVE st k"), [1, 1, 1])
            self.assertEqual(client.reply(), [1, 0, 1, 0, -1, []])
        self.assertEqual(self.waiting(), 0)

    def test_a_small_one_does_not_overtake_a_large_one(self):
        self.start()
        self.full_stock(10)
        self.client.line("GIVE st k")
        large = self.wait("TAKE st k COST 5 WAIT 30s")
        small = self.wait("TAKE st k COST 1 WAIT 30s")
        self.assert_nobody_answered([large, small], 0.1)
        self.client.line("GIVE st k COST 4")
        self.assertEqual(large.reply()[:2], [1, 0])
        self.assert_nobody_answered([small])
        self.client.line("GIVE st k")
        self.assertEqual(small.reply()[:2], [1, 0])

    def test_other_meters_do_not_wait_for_it(self):
        self.start()
        self.full_stock()
        waiting = self.wait("TAKE st k WAIT 30s")
        self.assertEqual(self.client.line("TAKE st other WAIT 30s")[0], 1)
        self.assert_nobody_answered([waiting])

    def test_time_brings_capacity_in_order(self):
        self.start()
        self.client.line("LIMIT SET api BUCKET 5 PER 1s BURST 1")
        self.client.line("TAKE api k")
        clients = [self.server.resp() for _ in range(5)]
        for client in clients:
            number = client.line("CLIENT ID")
            client.send(encode(*"TAKE api k WAIT 30s".split()))
            its_take = rb"(?m)^id=%d .*cmd=take" % number
            harness.wait_until(lambda: re.search(its_take, self.client.line("CLIENT LIST")), "its turn in the queue")
        served = []
        while len(served) < len(clients):
            unserved = [client for client in clients if client not in served]
            ready, _, _ = select.select([client.socket for client in unserved], [], [], harness.PATIENCE_S)
            served += [client for client in unserved if client.socket in ready]
        self.assertEqual([clients.index(client) for client in served], [0, 1, 2, 3, 4])
        self.assertEqual([client.reply()[0] for client in clients], [1] * 5)

    def test_a_closed_connection_leaves_the_queue_and_takes_nothing(self):
        self.start()
        self.full_stock()
        gone, staying = self.wait("TAKE st k WAIT 30s"), self.wait("TAKE st k WAIT 30s")
        gone.close()
        harness.wait_until(lambda: self.waiting() == 1, "leaving the queue")
        self.client.line("GIVE st k")
        self.assertEqual(staying.reply()[0], 1)
        self.assertEqual(self.client.line("USAGE st k"), [1, 0, 0, 1, -1])

    def test_a_killed_client_leaves_the_queue(self):
        self.start()
        self.full_stock()
        victim = self.server.resp()
        number = victim.line("CLIENT ID")
        victim.send(encode(*"TAKE st k WAIT 30s".split()))
        harness.wait_until(lambda: self.waiting() == 1)
        self.assertEqual(self.client.line(f"CLIENT KILL ID {number}"), 1)
        harness.wait_until(lambda: self.waiting() == 0)

    def test_the_queue_is_bounded(self):
        self.start("--waiters-max", "4")  # One address has half of them.
        self.full_stock()
        clients = [self.wait("TAKE st k WAIT 30s") for _ in range(2)]
        self.assertEqual(self.client.line("TAKE st k WAIT 30s").code, "UNAVAILABLE")
        self.client.line("GIVE st k")
        self.assertEqual(clients[0].reply()[0], 1)
        self.wait("TAKE st k WAIT 30s")  # There is room again.

    def test_time_that_is_over_denies(self):
        self.start()
        self.full_stock()
        started = time.monotonic()
        self.assertEqual(self.client.line("TAKE st k WAIT 100ms"), [0, 0, 1, -1, -1, [b"st"]])
        self.assertGreaterEqual(time.monotonic() - started, 0.1)
        self.assertEqual(self.client.line("USAGE st k"), [1, 0, 0, 1, -1])
        self.assertEqual(self.client.line("TAKE st k WAIT 0"), [0, 0, 1, -1, -1, [b"st"]])

    def test_one_that_gives_up_lets_the_next_through(self):
        self.start()
        self.full_stock(10)
        self.client.line("GIVE st k")
        large = self.wait("TAKE st k COST 5 WAIT 100ms")
        small = self.wait("TAKE st k COST 1 WAIT 30s")
        self.assertEqual(large.reply()[0], 0)
        self.assertEqual(small.reply()[0], 1)

    def test_what_can_never_fit_does_not_wait(self):
        self.start()
        self.full_stock(10)
        self.assertEqual(self.client.line("TAKE st k COST 11 WAIT 30s")[:4], [0, 0, 10, -1])

    def test_commands_behind_are_answered_in_order(self):
        self.start()
        self.full_stock()
        other = self.wait("TAKE st k WAIT 30s", "PING", "USAGE st k", "TAKE st k WAIT 20ms", "ECHO last")
        self.assert_nobody_answered([other])
        self.client.line("GIVE st k")
        self.assertEqual([other.reply() for _ in range(5)],
                         [[1, 0, 1, 0, -1, []], Simple("PONG"), [1, 0, 0, 1, -1], [0, 0, 1, -1, -1, [b"st"]], b"last"])

    def test_several_charges_wait_for_all_of_them(self):
        self.start()
        self.full_stock()
        self.client.line("LIMIT SET other STOCK 1")
        self.client.line("TAKE other k")
        both = self.wait("TAKE st k AND other k WAIT 30s")
        self.client.line("GIVE st k")
        self.assert_nobody_answered([both])
        self.client.line("GIVE other k")
        self.assertEqual(both.reply()[0], 1)

    def test_an_id_charges_once(self):
        self.start()
        self.full_stock()
        waiting = self.wait("TAKE st k ID op WAIT 30s")
        self.client.line("GIVE st k")
        answer = waiting.reply()
        self.assertEqual(answer[0], 1)
        self.assertEqual(self.client.line("TAKE st k ID op WAIT 30s"), answer)

    def test_an_id_that_was_answered_does_not_wait_again(self):
        self.start("--waiters-max", "1")
        self.client.line("LIMIT SET st STOCK 1")
        taken = self.client.line("TAKE st k ID taken")
        denied = self.client.line("TAKE st k ID denied")
        self.assertEqual([taken[0], denied[0]], [1, 0])
        first = self.wait("TAKE st k WAIT 30s")  # The queue is full.
        for id, answer in (("taken", taken), ("denied", denied)):
            self.assertEqual(self.client.line(f"TAKE st k ID {id} WAIT 30s"), answer)
        self.assertEqual(self.client.line("TAKE st k COST 2 ID taken WAIT 30s").code, "MISMATCH")
        self.assert_nobody_answered([first])
        self.client.line("LIMIT DEL st")
        self.assertEqual(self.client.line("TAKE st k ID taken WAIT 30s"), taken)

    def test_whatever_makes_room_wakes(self):
        for what, before, makes_room in (
                ("GIVE", [], "GIVE st k"), ("RECONCILE", [], "RECONCILE st k 0"),
                ("LIMIT SET", [], "LIMIT SET st STOCK 5"), ("LIMIT OVERRIDE", [], "LIMIT OVERRIDE st k 5"),
                ("FLUSHALL", [], "FLUSHALL"),
                ("CANCEL", ["GIVE st k", "HOLD st k TTL 1h ID h"], "CANCEL h"),
                ("COMMIT", ["GIVE st k", "HOLD st k TTL 1h ID h"], "COMMIT h 0"),
                ("the end of a hold", ["GIVE st k", "HOLD st k TTL 300ms ID h"], "PING")):
            with self.subTest(what):
                self.start()
                self.full_stock()
                for command in before:
                    self.client.line(command)
                waiting = self.wait("TAKE st k WAIT 30s")
                self.assertNotIsInstance(self.client.line(makes_room), harness.Failure)
                self.assertEqual(waiting.reply()[0], 1)

    def test_a_limit_that_goes_is_an_error(self):
        self.start()
        self.full_stock()
        waiting = self.wait("TAKE st k WAIT 30s")
        self.client.line("LIMIT DEL st")
        self.assertEqual(waiting.reply().code, "NOLIMIT")

    def test_waiting_costs_no_thread(self):
        self.start()
        self.full_stock()
        threads = lambda: int(re.search(r"Threads:\s+(\d+)",
                                        Path(f"/proc/{self.server.process.pid}/status").read_text())[1])
        before = threads()
        clients = [self.server.resp() for _ in range(300)]
        for client in clients:
            client.send(encode(*"TAKE st k WAIT 30s".split()))
        harness.wait_until(lambda: self.waiting() == 300)
        self.assertEqual(threads(), before)
        self.client.line("LIMIT SET st STOCK 301")
        self.assertEqual([client.reply()[0] for client in clients], [1] * 300)
        self.assertEqual(self.client.line("USAGE st k"), [301, 0, 0, 301, -1])


class WaitingOverHttp(Doors):
    """The same queue, by another door."""

    PATIENCE = "30s"

    def post(self, body):
        connection = self.server.http()
        return harness.ask_http(connection, "POST", "/v1/take", body)

    def send_take(self, patience=PATIENCE, behind=b"", headers=b"", **fields):
        """A new client that waits; returns once the server has it in its queue."""
        before = self.waiting()
        client = self.server.raw_http()
        body = json.dumps({"charges": [{"limit": "st", "key": "k"}], "wait": patience, **fields}).encode()
        client.send(b"POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers
                    + b"Content-Length: %d\r\n\r\n" % len(body) + body + behind)
        harness.wait_until(lambda: self.waiting() == before + 1, "its place in the queue")
        return client

    @staticmethod
    def response(client):
        """(status, headers in lower case, body)."""
        status = int(client.read_line().split()[1])
        headers = {}
        while line := client.read_line():
            name, value = line.decode().split(": ", 1)
            headers[name.lower()] = value
        return status, headers, json.loads(client.read(int(headers["content-length"])))

    def test_a_give_wakes_the_first(self):
        self.start()
        self.full_stock()
        clients = [self.send_take() for _ in range(3)]
        for index, client in enumerate(clients):
            self.assert_nobody_answered(clients[index:])
            self.assertEqual(self.post({"charges": [{"limit": "st", "key": "k"}], "wait": "0s"}).status, 429)
            self.assertEqual(self.client.line("GIVE st k"), [1, 1, 1])
            status, headers, body = self.response(client)
            self.assertEqual((status, body["allowed"], body["remaining"]), (200, True, 0))
            self.assertEqual((headers["ratelimit"], headers["cache-control"]), ('"st";r=0', "no-store"))
        self.assertEqual(self.waiting(), 0)

    def test_doors_share_one_queue(self):
        self.start()
        self.full_stock()
        first = self.send_take()
        second = self.wait("TAKE st k WAIT 30s")
        self.client.line("GIVE st k")
        self.assertEqual(self.response(first)[0], 200)
        self.assert_nobody_answered([second])
        self.client.line("GIVE st k")
        self.assertEqual(second.reply()[0], 1)

    def test_time_that_is_over_denies(self):
        self.start()
        self.full_stock()
        started = time.monotonic()
        answer = self.post({"charges": [{"limit": "st", "key": "k"}], "wait": "100ms"})
        self.assertGreaterEqual(time.monotonic() - started, 0.1)
        self.assertEqual((answer.status, answer.json["allowed"], answer.json["violated"]), (429, False, ["st"]))
        self.assertEqual(self.client.line("USAGE st k"), [1, 0, 0, 1, -1])

    def test_a_client_that_goes_leaves_the_queue(self):
        self.start()
        self.full_stock()
        for leave in (harness.Socket.close, harness.Socket.end_sending):
            client = self.send_take()
            leave(client)
            harness.wait_until(lambda: self.waiting() == 0, "that it has left")
        self.client.line("GIVE st k")
        self.assertEqual(self.client.line("USAGE st k"), [0, 0, 1, 1, -1])

    def test_an_id_charges_once(self):
        self.start()
        self.full_stock()
        first, second = self.send_take(id="op"), self.send_take(id="op")
        self.client.line("GIVE st k")
        answers = [self.response(client)[2] for client in (first, second)]
        self.assertEqual(answers[0], answers[1])
        again = self.post({"charges": [{"limit": "st", "key": "k"}], "wait": "30s", "id": "op"})
        self.assertEqual((again.status, again.json), (200, answers[0]))
        other = self.post({"charges": [{"limit": "st", "key": "l"}], "wait": "30s", "id": "op"})
        self.assertEqual(other.status, 409)

    def test_several_charges_wait_for_all_of_them(self):
        self.start()
        self.full_stock()
        self.client.line("LIMIT SET other STOCK 1")
        self.client.line("TAKE other k")
        both = self.send_take(charges=[{"limit": "st", "key": "k"}, {"limit": "other", "key": "k"}])
        self.client.line("GIVE st k")
        self.assert_nobody_answered([both])
        self.client.line("GIVE other k")
        status, headers, _ = self.response(both)
        self.assertEqual((status, headers["ratelimit"]), (200, '"st";r=0, "other";r=0'))

    def test_requests_behind_are_answered_in_order(self):
        self.start()
        self.full_stock()
        client = self.send_take(behind=b"GET /v1/meters/st/k HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        self.assert_nobody_answered([client])
        self.client.line("GIVE st k")
        self.assertEqual([self.response(client)[2].get("allowed") for _ in range(3)], [True, None, None])

    def test_a_connection_that_is_to_be_closed_is(self):
        self.start()
        self.full_stock()
        client = self.send_take(headers=b"Connection: close\r\n")
        self.client.line("GIVE st k")
        status, headers, _ = self.response(client)
        self.assertEqual((status, headers["connection"]), (200, "close"))
        self.assertEqual(client.read_to_end(), b"")

    def test_bad_requests_are_told_at_once(self):
        self.start("--waiters-max", "1")
        self.full_stock()
        st = [{"limit": "st", "key": "k"}]
        for body, status in (({"charges": st, "wait": "soon"}, 400),
                             ({"charges": st, "wait": "1s", "mode": "peek"}, 400),
                             ({"charges": [{"limit": "nope", "key": "k"}], "wait": "30s"}, 404)):
            self.assertEqual(self.post(body).status, status, body)
        takes = harness.ask_http(self.server.http(), "POST", "/v1/takes", [{"charges": st, "wait": "1s"}])
        self.assertEqual(takes.status, 400)
        self.send_take()
        self.assertEqual(self.post({"charges": st, "wait": "30s"}).status, 503)

    def test_the_end_of_the_server_denies(self):
        self.start()
        self.full_stock()
        client = self.send_take()
        self.server.signal(signal.SIGTERM)
        self.assertEqual(self.response(client)[0], 429)


if __name__ == "__main__":
    harness.main()
