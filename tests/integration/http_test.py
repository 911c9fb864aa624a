#!/usr/bin/env python3
"""The HTTP API: every route, its statuses, headers and bodies; keep-alive and pipelining."""

import json
import time
import unittest

import harness
from harness import ask_http

PROBLEM = "application/problem+json"
QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
MINUTES_100 = {"kind": "bucket", "amount": 100, "period": "1m"}


def charge(limit, key, cost=None):
    return {"limit": limit, "key": key} | ({} if cost is None else {"cost": cost})


class Case(unittest.TestCase):
    def setUp(self):
        self.server = harness.Server(self)
        self.connection = self.server.http()

    def ask(self, method, path, body=None, status=200, headers=None):
        response = ask_http(self.connection, method, path, body, headers)
        self.assertEqual(response.status, status, f"{method} {path}: {response.body}")
        if status >= 400 and method != "HEAD" and path.split("?")[0] != "/v1/check":
            self.assertEqual(response.type, PROBLEM)
            self.assertEqual(response.json["status"], status)
            self.assertTrue(response.json["title"])
            self.assertTrue(response.json["type"])
        return response

    def define(self, name, **fields):
        self.ask("PUT", f"/v1/limits/{name}", fields or {"kind": "stock", "amount": 10}, status=201)


class Decisions(Case):
    def test_take(self):
        self.define("api", kind="bucket", amount=10, period="1m")
        body = {"charges": [charge("api", "alice", 1)]}
        self.assertEqual(self.ask("POST", "/v1/take", body).json,
                         {"allowed": True, "remaining": 9, "limit": 10, "retry_after_ms": 0, "reset_after_ms": 6000,
                          "violated": []})
        denied = self.ask("POST", "/v1/take", {"charges": [charge("api", "alice", 10)]}, status=429).json
        self.assertEqual((denied["allowed"], denied["remaining"], denied["limit"], denied["violated"]),
                         (False, 9, 10, ["api"]))
        self.assertEqual((denied["type"], denied["violated-policies"]), (QUOTA_EXCEEDED, ["api"]))
        self.assertTrue(0 < denied["retry_after_ms"] <= 6000)

    def test_modes(self):
        self.define("st")
        table = [
            # mode, cost → status, allowed, remaining, used afterwards
            ("peek", 4, 200, True, 6, 0),
            ("take", 4, 200, True, 6, 4),
            ("peek", 7, 429, False, 6, 4),
            ("up_to", 7, 200, True, 0, 10),
            ("force", 3, 200, True, 0, 13),
        ]
        for mode, cost, status, allowed, remaining, used in table:
            with self.subTest(mode=mode, cost=cost):
                body = {"charges": [charge("st", "k", cost)], "mode": mode}
                answer = self.ask("POST", "/v1/take", body, status=status).json
                self.assertEqual((answer["allowed"], answer["remaining"]), (allowed, remaining))
                self.assertEqual(self.ask("GET", "/v1/meters/st/k").json["used"], used)

    def test_an_id_charges_once_and_is_not_for_another(self):
        self.define("st")
        body = {"charges": [charge("st", "k", 4)], "id": "op"}
        first = self.ask("POST", "/v1/take", body).json
        self.assertEqual(self.ask("POST", "/v1/take", body).json, first)
        self.ask("POST", "/v1/take", {"charges": [charge("st", "k", 5)], "id": "op"}, status=409)

    def test_several_charges_all_or_nothing(self):
        self.define("ten")
        self.define("three", kind="stock", amount=3)
        self.ask("POST", "/v1/take", {"charges": [charge("ten", "k", 4), charge("three", "k", 4)]}, status=429)
        self.assertEqual(self.ask("GET", "/v1/meters/ten/k").json["used"], 0)
        response = self.ask("POST", "/v1/take", {"charges": [charge("ten", "k", 4), charge("three", "k", 2)]})
        self.assertEqual(response.json["remaining"], 1)
        self.assertEqual(response.headers["RateLimit-Policy"], '"ten";q=10, "three";q=3')
        self.assertEqual(response.headers["RateLimit"], '"ten";r=6, "three";r=1')

    def test_headers_of_a_decision(self):
        self.define("api", **MINUTES_100)
        body = {"charges": [charge("api", "alice", 50)]}
        now = time.time()
        allowed = self.ask("POST", "/v1/take", body).headers
        self.assertEqual(allowed["RateLimit-Policy"], '"api";q=100;w=60')
        self.assertEqual(allowed["RateLimit"], '"api";r=50;t=30')
        self.assertEqual((allowed["X-RateLimit-Limit"], allowed["X-RateLimit-Remaining"]), ("100", "50"))
        self.assertTrue(now + 29 <= int(allowed["X-RateLimit-Reset"]) <= now + 30 + harness.PATIENCE_S)
        self.assertNotIn("Retry-After", allowed)
        denied = self.ask("POST", "/v1/take", {"charges": [charge("api", "alice", 100)]}, status=429).headers
        self.assertRegex(denied["RateLimit"], r'^"api";r=5\d;t=(30|2\d)$')
        self.assertTrue(1 <= int(denied["Retry-After"]) <= 30)
        never = self.ask("POST", "/v1/take", {"charges": [charge("api", "alice", 101)]}, status=429)
        self.assertNotIn("Retry-After", never.headers)
        self.assertEqual(never.json["retry_after_ms"], -1)

    def test_retry_after_is_rounded_up(self):
        self.define("fast", kind="bucket", amount=10, period="1s")
        denied = [self.ask("POST", "/v1/take", {"charges": [charge("fast", "k", 10)]}, status=status)
                  for status in (200, 429)][1]
        self.assertEqual(denied.headers["Retry-After"], "1")
        self.assertLessEqual(denied.json["retry_after_ms"], 1000)

    def test_check_answers_by_status_and_headers_alone(self):
        self.define("api", kind="bucket", amount=2, period="1h")
        for status in (200, 200, 429):
            response = self.ask("GET", "/v1/check?limit=api&key=alice", status=status)
            self.assertEqual(response.body, b"")
            self.assertIn("RateLimit", response.headers)
        self.assertTrue(1 <= int(response.headers["Retry-After"]) <= 1800)
        self.assertEqual(self.ask("GET", "/v1/check?limit=api&key=bob&cost=2").headers["X-RateLimit-Remaining"], "0")
        self.assertEqual(self.ask("GET", "/v1/check?limit=api&key=c%20d%2Fe").headers["X-RateLimit-Remaining"], "1")
        self.assertEqual(self.ask("GET", "/v1/meters/api/c%20d%2Fe").json["used"], 1)
        self.ask("GET", "/v1/check?limit=nobody&key=alice", status=404)
        for query in ("", "?limit=api", "?key=alice", "?limit=api&key=", "?limit=api&key=a&cost=x",
                      "?limit=api&key=a&cost=-1", "?limit=api&key=a&key=b", "?limit=api&key=a&colour=red"):
            with self.subTest(query):
                self.ask("GET", "/v1/check" + query, status=400)

    def test_check_takes_any_method_and_body(self):
        self.define("api", kind="bucket", amount=10, period="1h")
        methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")
        for number, method in enumerate(methods, start=1):
            with self.subTest(method):
                body = None if method in ("GET", "HEAD") else "this is no JSON"
                response = self.ask(method, "/v1/check?limit=api&key=alice", body)
                self.assertEqual(response.headers["X-RateLimit-Remaining"], str(10 - number))

    def test_check_of_several_limits_is_one_operation(self):
        self.define("api", kind="bucket", amount=10, period="1h")
        self.define("st", kind="stock", amount=1)
        both = "/v1/check?limit=api&key=alice&cost=2&limit=st&key=acme"
        self.assertEqual(self.ask("GET", both).headers["X-RateLimit-Limit"], "1")
        self.ask("GET", both, status=429)
        self.assertEqual(self.ask("GET", "/v1/meters/api/alice").json["used"], 2)
        self.ask("GET", "/v1/check?limit=api&key=alice&limit=st", status=400)

    def test_check_reads_headers(self):
        self.define("api", kind="bucket", amount=10, period="1h")
        used = lambda key: self.ask("GET", "/v1/meters/api/" + key).json["used"]
        self.ask("GET", "/v1/check", headers={"Mete-Limit": "api", "Mete-Key": "alice", "Mete-Cost": "3"})
        self.assertEqual(used("alice"), 3)
        self.ask("GET", "/v1/check?limit=api&cost=2", headers={"Mete-Key": "a&key=b", "Mete-Limit": "nobody"})
        self.assertEqual(used("a%26key%3Db"), 2)
        self.ask("GET", "/v1/check", headers={"Mete-Limit": "api"}, status=400)
        self.ask("GET", "/v1/check", headers={"Mete-Limit": "api", "Mete-Key": "a", "Mete-Cost": "0"}, status=400)
        # A proxy that says it all in the query may pass on what its clients send.
        self.ask("GET", "/v1/check?limit=api&key=carol", headers={"Mete-Key": "victim", "Mete-Cost": "10"})
        self.assertEqual((used("carol"), used("victim")), (1, 0))

    def test_check_cannot_be_steered_by_what_stands_in_a_key(self):
        self.define("api", kind="bucket", amount=10, period="1h")
        for injected in ("&cost=0", "&cost=1", "&key=x", "&limit=api", "&cost=-1"):
            with self.subTest(injected):
                self.ask("GET", "/v1/check?limit=api&cost=5&key=/inj" + injected, status=400)
        self.ask("GET", "/v1/check?limit=api&key=/inj&cost=0", status=400)
        self.ask("GET", "/v1/check?limit=api&cost=5&key=/inj&limit=api&key=victim", status=400)
        self.ask("PUT", "/v1/check/inj?limit=api&key=victim", headers={"Mete-Limit": "api", "Mete-Key": "alice"})
        self.ask("GET", "/v1/check?limit=api&raw_key=/inj&limit=api&key=victim")
        used = [self.ask("GET", f"/v1/meters/api/{key}").json["used"]
                for key in ("victim", "alice", "%2Finj%26limit%3Dapi%26key%3Dvictim")]
        self.assertEqual(used, [0, 1, 1])

    def test_give(self):
        self.define("st")
        self.ask("POST", "/v1/take", {"charges": [charge("st", "k", 6)]})
        body = {"charges": [charge("st", "k", 2)], "id": "back"}
        for _ in range(2):
            self.assertEqual(self.ask("POST", "/v1/give", body).json, {"returned": 2, "remaining": 6, "limit": 10})
        self.assertEqual(self.ask("POST", "/v1/give", {"charges": [charge("st", "k", 9)]}).json["returned"], 4)


class Holds(Case):
    def test_the_life_of_a_hold(self):
        self.define("credits", kind="stock", amount=100)
        held = self.ask("POST", "/v1/holds", {"charges": [charge("credits", "k", 10)], "ttl": "1h", "tag": "job 7"},
                        status=201).json
        self.assertRegex(held["id"], "^[0-9a-f]{32}$")
        self.assertEqual((held["remaining"], held["limit"]), (90, 100))
        path = f"/v1/holds/{held['id']}"
        hold = self.ask("GET", path).json
        self.assertEqual((hold["state"], hold["tag"], hold["charges"]),
                         ("held", "job 7", [{"limit": "credits", "key": "k", "amount": 10}]))
        self.assertTrue(3_590_000 < hold["expires_in_ms"] <= 3_600_000)
        self.assertEqual(self.ask("GET", "/v1/holds?limit=credits&key=k").json, {"holds": [held["id"]]})
        self.assertEqual(self.ask("GET", "/v1/holds?tag=job%207").json, {"holds": [held["id"]]})
        self.assertGreater(self.ask("POST", path + "/extend", {"ttl": "2h"}).json["expires_in_ms"], 7_190_000)
        self.ask("POST", path + "/commit", {"amounts": [11]}, status=422)
        self.assertEqual(self.ask("POST", path + "/commit", {"amounts": [7]}).json,
                         {"committed": 7, "remaining": 93, "limit": 100})
        self.assertEqual(self.ask("GET", path).json["state"], "committed")
        self.assertEqual(self.ask("POST", path + "/commit", {"amounts": [7]}).json,
                         {"committed": 7, "remaining": 93, "limit": 100})  # the same again
        self.ask("POST", path + "/commit", {"amounts": [6]}, status=409)
        self.ask("POST", path + "/commit", status=409)
        self.ask("POST", path + "/cancel", status=404)  # final once

    def test_cancel_overage_and_an_id_of_ones_own(self):
        self.define("credits", kind="stock", amount=100)
        body = {"charges": [charge("credits", "k", 10)], "ttl": "1h", "id": "mine"}
        for _ in range(2):
            self.assertEqual(self.ask("POST", "/v1/holds", body, status=201).json["id"], "mine")
        self.assertEqual(self.ask("POST", "/v1/holds/mine/cancel").json,
                         {"returned": 10, "remaining": 100, "limit": 100})
        self.ask("POST", "/v1/holds", body | {"id": "more"}, status=201)
        self.assertEqual(self.ask("POST", "/v1/holds/more/commit", {"amounts": [15], "overage": True}).json["committed"],
                         15)
        self.ask("POST", "/v1/holds", body | {"id": "all"}, status=201)
        self.assertEqual(self.ask("POST", "/v1/holds/all/commit").json["committed"], 10)

    def test_refusals(self):
        self.define("credits", kind="stock", amount=5)
        denied = self.ask("POST", "/v1/holds", {"charges": [charge("credits", "k", 6)], "ttl": "1h"}, status=429)
        self.assertEqual(denied.json["type"], QUOTA_EXCEEDED)
        self.assertIn("RateLimit", denied.headers)
        self.ask("POST", "/v1/holds", {"charges": [charge("credits", "k")]}, status=400)  # for how long?
        self.ask("POST", "/v1/holds", {"charges": [charge("nobody", "k")], "ttl": "1h"}, status=404)
        for method, path, body in (("GET", "", None), ("POST", "/commit", {}), ("POST", "/cancel", None),
                                   ("POST", "/extend", {"ttl": "1h"})):
            self.ask(method, "/v1/holds/nobody" + path, body, status=404)
        self.ask("POST", "/v1/holds", {"charges": [charge("credits", "k")], "ttl": "20ms", "id": "short"}, status=201)
        harness.wait_until(lambda: ask_http(self.connection, "GET", "/v1/holds/short").json["state"] == "expired")
        self.ask("POST", "/v1/holds/short/commit", {}, status=410)
        self.ask("POST", "/v1/holds/short/extend", {"ttl": "1h"}, status=410)


class LimitsAndMeters(Case):
    def test_limits(self):
        self.assertEqual(self.ask("GET", "/v1/limits").json, {"limits": []})
        api = self.ask("PUT", "/v1/limits/api", MINUTES_100 | {"burst": 200}, status=201).json
        self.assertEqual({name: api[name] for name in ("kind", "amount", "period", "burst")},
                         {"kind": "bucket", "amount": 100, "period": "1m", "burst": 200})
        self.assertEqual(self.ask("GET", "/v1/limits/api").json, api)
        self.ask("PUT", "/v1/limits/api", MINUTES_100, status=200)
        self.define("links", kind="calendar", amount=20, period="month", zone="Europe/Berlin", anchor=15)
        self.assertEqual(self.ask("GET", "/v1/limits").json, {"limits": ["api", "links"]})
        self.ask("DELETE", "/v1/limits/api", status=204)
        self.ask("DELETE", "/v1/limits/api", status=404)
        self.ask("GET", "/v1/limits/api", status=404)
        for wrong in ({}, {"kind": "turtle", "amount": 1}, {"kind": "stock", "amount": 0},
                      {"kind": "bucket", "amount": 1}, {"kind": "stock", "amount": 1, "colour": "red"},
                      {"kind": "stock", "amount": "1"}, {"kind": "calendar", "amount": 1, "period": "1m"}):
            with self.subTest(wrong):
                self.ask("PUT", "/v1/limits/wrong", wrong, status=400)
        self.ask("GET", "/v1/limits/wrong", status=404)

    def test_overrides(self):
        self.define("st")
        self.ask("PUT", "/v1/limits/st/overrides/vip", {"amount": 100})
        self.assertEqual(self.ask("GET", "/v1/meters/st/vip").json["limit"], 100)
        self.ask("DELETE", "/v1/limits/st/overrides/vip", status=204)
        self.assertEqual(self.ask("GET", "/v1/meters/st/vip").json["limit"], 10)
        self.ask("PUT", "/v1/limits/nobody/overrides/vip", {"amount": 1}, status=404)
        self.ask("PUT", "/v1/limits/st/overrides/vip", {"amount": 0}, status=400)

    def test_meters(self):
        self.define("st")
        self.assertEqual(self.ask("GET", "/v1/meters/st/k").json,
                         {"used": 0, "held": 0, "remaining": 10, "limit": 10, "reset_after_ms": -1})
        self.assertEqual(self.ask("PUT", "/v1/meters/st/k", {"used": 7}).json, {"used_before": 0, "used_now": 7})
        self.assertEqual(self.ask("GET", "/v1/meters/st/k").json["used"], 7)
        self.ask("GET", "/v1/meters/nobody/k", status=404)
        self.ask("PUT", "/v1/meters/nobody/k", {"used": 7}, status=404)
        self.ask("PUT", "/v1/meters/st/k", {"used": -1}, status=400)


class TheServer(Case):
    def test_health_and_documents(self):
        self.ask("GET", "/healthz")
        self.ask("GET", "/readyz")
        openapi = self.ask("GET", "/openapi.json").json
        self.assertTrue(openapi["openapi"].startswith("3.1"))
        for path in ("/v1/take", "/v1/give", "/v1/holds", "/v1/holds/{id}", "/v1/holds/{id}/commit", "/v1/check",
                     "/v1/limits/{name}", "/v1/limits/{name}/overrides/{key}", "/v1/meters/{limit}/{key}", "/metrics"):
            self.assertIn(path, openapi["paths"])
        self.assertIn(b"mete_build_info", self.ask("GET", "/metrics").body)

    def test_unknown_paths_and_methods(self):
        for method, path, status in (("GET", "/", 404), ("GET", "/v1/nothing", 404), ("GET", "/v1/take", 405),
                                     ("DELETE", "/v1/take", 405), ("POST", "/v1/limits/api", 405),
                                     ("GET", "/v1/limits/", 404), ("GET", "//v1/limits", 404)):
            with self.subTest(f"{method} {path}"):
                response = self.ask(method, path, status=status)
                if status == 405:
                    self.assertIn("Allow", response.headers)

    def test_head_has_no_body(self):
        response = self.ask("HEAD", "/healthz")
        self.assertEqual(response.body, b"")

    def test_a_body_of_another_type_is_refused(self):
        self.define("st")
        body = json.dumps({"charges": [charge("st", "k")]}).encode()
        self.ask("POST", "/v1/take", body, status=415, headers={"Content-Type": "text/plain"})
        self.ask("POST", "/v1/take", body, headers={"Content-Type": "application/json; charset=utf-8"})


class Connections(Case):
    TAKE = b'{"charges":[{"limit":"st","key":"k"}]}'

    def request(self, *headers, version=b"1.1", body=TAKE):
        lines = [b"POST /v1/take HTTP/" + version, b"Host: x", b"Content-Type: application/json", *headers]
        return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", body])

    def test_keep_alive_is_one_connection(self):
        accepted = lambda: int(self.server.ask("INFO", "stats").split(b"total_connections_received:")[1].split()[0])
        self.ask("GET", "/healthz")
        before = accepted()
        for _ in range(20):
            self.ask("GET", "/healthz")
        self.assertEqual(accepted(), before + 1)  # the question itself

    def test_closing(self):
        for what, request in {"asked for": self.request(b"Connection: close"),
                              "HTTP/1.0": self.request(version=b"1.0")}.items():
            with self.subTest(what):
                self.ask("PUT", "/v1/limits/st", {"kind": "stock", "amount": 10},
                         status=201 if what == "asked for" else 200)
                client = self.server.raw_http()
                client.send(request + request)
                answer = client.read_to_end()
                self.assertEqual(answer.count(b"HTTP/1."), 1)
                self.assertIn(b"connection: close", answer.lower())

    def test_pipelining_answers_in_order(self):
        self.define("st", kind="stock", amount=1000)
        client = self.server.raw_http()
        client.send(self.request() * 199 + self.request(b"Connection: close"))
        answers = client.read_to_end().split(b"HTTP/1.1 ")[1:]
        self.assertEqual([json.loads(answer.split(b"\r\n\r\n")[1])["remaining"] for answer in answers],
                         list(range(999, 799, -1)))

    def test_a_request_one_byte_at_a_time(self):
        self.define("st")
        client = self.server.raw_http()
        for byte in self.request(b"Connection: close"):
            client.send(bytes([byte]))
        self.assertTrue(client.read_to_end().startswith(b"HTTP/1.1 200 "))

    def test_chunks_and_expect(self):
        self.define("st")
        head = b"POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
        client = self.server.raw_http()
        client.send(head + b"Transfer-Encoding: chunked\r\n\r\n" +
                    b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (self.TAKE[:5], self.TAKE[5:])) +
                    b"0\r\n\r\n")
        self.assertTrue(client.read_to_end().startswith(b"HTTP/1.1 200 "))
        client = self.server.raw_http()
        client.send(head + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(self.TAKE))
        self.assertEqual(client.read_line(), b"HTTP/1.1 100 Continue")
        client.send(self.TAKE)
        self.assertIn(b"HTTP/1.1 200 ", client.read_to_end())

    def test_who_ends_its_side_still_gets_its_answers(self):
        client = self.server.raw_http()
        body = b'{"kind":"stock","amount":5}'
        client.send(b"PUT /v1/limits/st HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(body), body) + self.request())
        client.end_sending()
        answers = client.read_to_end()
        self.assertIn(b"HTTP/1.1 201 ", answers)
        self.assertIn(b'"remaining":4', answers)

    def test_both_protocols_see_one_store(self):
        self.define("st")
        self.ask("POST", "/v1/take", {"charges": [charge("st", "k", 4)]})
        self.assertEqual(self.server.ask("TAKE", "st", "k"), [1, 5, 10, 0, -1, []])


if __name__ == "__main__":
    harness.main()
