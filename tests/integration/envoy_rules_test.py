#!/usr/bin/env python3
"""Envoy's rate limit service, asked by Google's gRPC client, which learns the messages by reflection."""

import os
import re
import unittest

import harness
import python_packages

if __name__ == "__main__":
    python_packages.run_with_packages()

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SECONDS = 10  # how long a call may take on a busy machine
SERVICE = "envoy.service.ratelimit.v3.RateLimitService"

RULES = """
domain: shop
descriptors:
  - key: tenant
    rate_limit: {unit: day, requests_per_unit: 5, name: tenants}
    descriptors:
      - key: path
        value: /login
        rate_limit: {unit: day, requests_per_unit: 2}
  - key: tenant
    value: gold
    rate_limit: {unlimited: true}
  - key: blocked
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: quiet
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: quota_a
    quota_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: quota_b
    quota_mode: true
    rate_limit: {unit: day, requests_per_unit: 3}
  - key: tokens
    rate_limit: {mete: {kind: stock, amount: 100, on_over: record}}
  - key: quiet_block
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: short
    rate_limit: {mete: {kind: bucket, amount: 10, period: 4s, burst: 1}}
"""


def descriptor(*entries, **more):
    return {"entries": [{"key": key, "value": value} for key, value in entries]} | more


class EnvoyCase(unittest.TestCase):
    flags = ()

    def setUp(self):
        self.folder = harness.Folder(self)
        self.write(RULES)
        self.server = harness.Server(self, "--grpc", "127.0.0.1:0", "--envoy", str(self.folder.path), *self.flags)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.server.grpc_port}")
        self.addCleanup(self.channel.close)
        pool = self.pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        self.method = pool.FindServiceByName(SERVICE).FindMethodByName("ShouldRateLimit")

    def write(self, text):
        self.folder.write("shop.yaml", text)

    def ask(self, *descriptors, domain="shop", password=None, method=None, **more):
        method = method or self.method
        request = json_format.ParseDict({"domain": domain, "descriptors": list(descriptors)} | more,
                                        message_factory.GetMessageClass(method.input_type)())
        answer = message_factory.GetMessageClass(method.output_type)
        path = f"/{method.containing_service.full_name}/{method.name}"
        call = self.channel.unary_unary(path, lambda message: message.SerializeToString(), answer.FromString)
        metadata = [("authorization", f"Bearer {password}")] if password else []
        return json_format.MessageToDict(call(request, timeout=SECONDS, metadata=metadata), preserving_proto_field_name=True,
                                         always_print_fields_with_no_presence=True)

    def codes(self, *descriptors, **more):
        answer = self.ask(*descriptors, **more)
        return answer["overall_code"], [status["code"] for status in answer["statuses"]]

    def used(self, limit, key):
        return self.server.ask("USAGE", limit, key)[0]

    def decisions(self, limit):
        """How many were allowed and denied of a limit, by the metrics."""
        text = harness.ask_http(self.server.http(), "GET", "/metrics").body.decode()
        found = {outcome: int(count) for outcome, count in re.findall(
            rf'mete_decisions_total{{limit="{re.escape(limit)}",outcome="(\w+)"}} (\d+)', text)}
        return found.get("allowed", 0), found.get("denied", 0)


class EnvoyRules(EnvoyCase):
    def test_counts_down_and_refuses(self):
        acme = descriptor(("tenant", "acme"))
        for remaining in (4, 3, 2, 1, 0):
            answer = self.ask(acme)
            self.assertEqual(answer["overall_code"], "OK")
            [status] = answer["statuses"]
            self.assertEqual(status["limit_remaining"], remaining)
            self.assertEqual(status["current_limit"], {"requests_per_unit": 5, "unit": "DAY", "name": "tenants"})
        answer = self.ask(acme)
        self.assertEqual((answer["overall_code"], answer["statuses"][0]["code"]), ("OVER_LIMIT", "OVER_LIMIT"))
        wait = float(answer["statuses"][0]["duration_until_reset"].rstrip("s"))
        self.assertTrue(0 < wait <= 86_400, wait)
        self.assertEqual(self.codes(descriptor(("tenant", "other"))), ("OK", ["OK"]), "each value has a meter of its own")

    def test_a_refusal_charges_nothing(self):
        login = descriptor(("tenant", "acme"), ("path", "/login"))
        acme = descriptor(("tenant", "acme"))
        self.assertEqual(self.codes(acme, login), ("OK", ["OK", "OK"]))
        self.assertEqual(self.codes(acme, login), ("OK", ["OK", "OK"]))
        self.assertEqual(self.codes(acme, login), ("OVER_LIMIT", ["OK", "OVER_LIMIT"]))
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 2)

    def test_what_nobody_limits_passes(self):
        self.assertEqual(self.codes(descriptor(("nothing", "x"))), ("OK", ["OK"]))
        self.assertEqual(self.codes(descriptor(("tenant", "acme"), ("path", "/x"), ("more", "y"))), ("OK", ["OK"]))
        self.assertEqual(self.codes(descriptor(("tenant", "acme")), domain="nobody"), ("OK", ["OK"]))
        gold = self.ask(descriptor(("tenant", "gold")))
        self.assertEqual(gold["statuses"][0]["limit_remaining"], 2**32 - 1)
        self.assertNotIn("current_limit", gold["statuses"][0])

    def test_blocked_and_shadow(self):
        acme = descriptor(("tenant", "acme"))
        self.assertEqual(self.codes(acme, descriptor(("blocked", "x"))), ("OVER_LIMIT", ["OK", "OVER_LIMIT"]))
        self.assertEqual(self.codes(acme, hits_addend=5), ("OK", ["OK"]), "nothing was charged before")
        for _ in range(3):
            self.assertEqual(self.codes(descriptor(("quiet", "x"))), ("OK", ["OK"]))
        self.assertEqual(self.codes(descriptor(("tenant", "other")), descriptor(("quiet_block", "x"))), ("OK", ["OK", "OK"]))

    def test_waits_are_whole_seconds_because_proxies_cut_the_rest_off(self):
        short = descriptor(("short", "x"))
        self.assertEqual(self.codes(short)[0], "OK")
        answer = self.ask(short)  # a tenth of a second later it may fit: then it has to be asked again
        while answer["overall_code"] == "OK":
            answer = self.ask(short)
        self.assertEqual(answer["statuses"][0]["duration_until_reset"], "1s")

    def test_all_denials_are_counted(self):
        acme = descriptor(("tenant", "acme"))
        check = descriptor(("tenant", "acme"), hits_addend={"value": "0"})
        self.assertEqual(self.codes(acme, hits_addend=5)[0], "OK")
        self.assertEqual(self.decisions("envoy.shop.tenant"), (1, 0))
        self.assertEqual(self.codes(check)[0], "OVER_LIMIT")
        self.assertEqual(self.decisions("envoy.shop.tenant"), (1, 1), "what a look has refused")
        self.assertEqual(self.codes(descriptor(("tenant", "new")), check)[0], "OVER_LIMIT")
        self.assertEqual(self.decisions("envoy.shop.tenant"), (1, 3), "both were asked for")
        tokens = descriptor(("tokens", "x"), hits_addend={"value": "80"})
        self.codes(tokens)
        self.assertEqual(self.codes(tokens)[0], "OVER_LIMIT")
        self.assertEqual(self.decisions("envoy.shop.tokens"), (1, 1))

    def test_quotas_are_over_together(self):
        quotas = [descriptor(("quota_a", "x")), descriptor(("quota_b", "x"))]
        self.assertEqual(self.codes(*quotas), ("OK", ["OK", "OK"]))
        for _ in range(2):
            self.assertEqual(self.codes(*quotas), ("OK", ["OVER_LIMIT", "OK"]))
        self.assertEqual(self.codes(*quotas), ("OVER_LIMIT", ["OVER_LIMIT", "OVER_LIMIT"]))

    def test_hits(self):
        acme = descriptor(("tenant", "acme"))
        self.assertEqual(self.codes(acme, hits_addend=6), ("OVER_LIMIT", ["OVER_LIMIT"]))
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 0)
        self.ask(acme, hits_addend=3)
        self.ask(descriptor(("tenant", "acme"), hits_addend={"value": "2"}))
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 5)
        check = descriptor(("tenant", "acme"), hits_addend={"value": "0"})
        self.assertEqual(self.codes(check), ("OVER_LIMIT", ["OVER_LIMIT"]), "no hits: whether one would fit")
        back = descriptor(("tenant", "acme"), hits_addend={"value": "4"}, is_negative_hits=True)
        self.assertEqual(self.codes(back), ("OK", ["OK"]))
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 1)
        answer = self.ask(check)
        self.assertEqual((answer["overall_code"], answer["statuses"][0]["limit_remaining"]), ("OK", 4))
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 1, "a check charges nothing")

    def test_reports_after_the_fact_are_recorded_where_the_rule_says_so(self):
        tokens = descriptor(("tokens", "x"), hits_addend={"value": "80"})
        self.assertEqual(self.codes(tokens), ("OK", ["OK"]))
        self.assertEqual(self.codes(tokens), ("OVER_LIMIT", ["OVER_LIMIT"]))
        self.assertEqual(self.used("envoy.shop.tokens", "x"), 160)

    def test_a_request_may_bring_its_limit(self):
        own = descriptor(("anything", "x"), limit={"requests_per_unit": 2, "unit": "HOUR"})
        answers = [self.codes(own)[0] for _ in range(3)]
        self.assertEqual(answers, ["OK", "OK", "OVER_LIMIT"])
        self.assertEqual(self.codes(own, domain="nobody"), ("OK", ["OK"]), "in a domain that is known")

    def test_limits_of_requests_are_one_for_their_keys_whatever_amounts_come(self):
        def own(user, amount, unit="HOUR"):
            return descriptor(("user", user), limit={"requests_per_unit": amount, "unit": unit})

        def limits():
            return [name for name in self.server.ask("LIMIT", "LIST") if name.startswith(b"envoy:")]
        for amount in range(10, 30):
            for user in ("ann", "bob"):
                [status] = self.ask(own(user, amount))["statuses"]
                self.assertEqual(status["limit_remaining"], amount - (amount - 10 + 1), "what is used stays used")
                self.assertEqual(status["current_limit"]["requests_per_unit"], amount)
        self.assertEqual(limits(), [b"envoy:shop.user/HOUR"])
        self.assertEqual(self.codes(own("ann", 20))[0], "OVER_LIMIT", "20 are used")
        self.assertEqual(self.codes(own("ann", 21))[0], "OK")
        self.assertEqual(self.codes(own("ann", 0))[0], "OVER_LIMIT")
        self.ask(own("ann", 5, "DAY"))
        self.assertEqual(limits(), [b"envoy:shop.user/DAY", b"envoy:shop.user/HOUR"])
        # Who changes the key's amount meanwhile is overruled by the next request.
        self.server.ask("LIMIT", "OVERRIDE", "envoy:shop.user/HOUR", "bob", 1)
        self.assertEqual([self.codes(own("bob", 29))[0] for _ in range(2)], ["OVER_LIMIT", "OK"])

    def test_bad_requests(self):
        def status(*arguments, **fields):
            with self.assertRaises(grpc.RpcError) as raised:
                self.ask(*arguments, **fields)
            return raised.exception.code()
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        self.assertEqual(status(descriptor(("tenant", "a")), domain=""), invalid)
        self.assertEqual(status(), invalid)
        self.assertEqual(status(descriptor(("tenant", "a"), hits_addend={"value": str(2**53)})), invalid)
        self.assertEqual(status(descriptor(("tenant", "a"), limit={"requests_per_unit": 1})), invalid)
        many = [descriptor(("tenant", f"t{number}")) for number in range(17)]
        self.assertEqual(status(*many), invalid)
        self.assertEqual(self.codes(*many[:16])[0], "OK")

    def test_rules_are_read_again_and_keep_their_usage(self):
        acme = descriptor(("tenant", "acme"))
        self.ask(acme, hits_addend=5)
        self.assertEqual(self.codes(acme)[0], "OVER_LIMIT")
        self.write(RULES.replace("requests_per_unit: 5, name: tenants", "requests_per_unit: 7, name: tenants"))
        self.await_code("OK", acme)
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 6)
        self.assertEqual(self.reloads(), (1, 0))
        self.write("domain: shop\ndescriptors: 5\n")
        self.server.wait_for_log("those from before stay in force")
        self.assertEqual(self.reloads(), (1, 1))
        self.assertEqual(self.codes(acme)[0], "OK")
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 7)

    def reloads(self):
        text = harness.ask_http(self.server.http(), "GET", "/metrics").body.decode()
        return tuple(int(re.search(rf'^mete_envoy_rules_reloads_total{{result="{result}"}} (\d+)', text, re.M)[1])
                     for result in ("success", "failure"))

    def test_changed_limits_are_defined_before_a_request_meets_them(self):
        amount = lambda: dict(zip(*[iter(self.server.ask("LIMIT", "GET", "envoy.shop.tenant"))] * 2))[b"amount"]
        self.assertEqual(amount(), 5)
        self.write(RULES.replace("requests_per_unit: 5, name: tenants", "requests_per_unit: 7, name: tenants"))
        harness.wait_until(lambda: self.reloads()[0] == 1, "a reload")
        self.assertEqual(amount(), 7)

    def test_a_file_that_is_deleted_is_noticed(self):
        other = self.folder.write("other.yaml", "domain: other\ndescriptors:\n  - key: x\n"
                                                "    rate_limit: {unit: day, requests_per_unit: 0}\n")
        x = descriptor(("x", ""))
        harness.wait_until(lambda: self.codes(x, domain="other")[0] == "OVER_LIMIT", "the new rule")
        os.unlink(other)
        harness.wait_until(lambda: self.codes(x, domain="other")[0] == "OK", "the end of the rule")

    def await_code(self, code, *descriptors):
        harness.wait_until(lambda: self.codes(*descriptors)[0] == code, f"an answer {code}")

    def test_a_limit_that_somebody_dropped_is_defined_again(self):
        acme = descriptor(("tenant", "acme"))
        self.ask(acme)
        self.server.ask("LIMIT", "DEL", "envoy.shop.tenant")
        self.assertEqual(self.codes(acme), ("OK", ["OK"]))
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 1)


class Kuadrant(EnvoyCase):
    def kuadrant(self, name, *descriptors, **more):
        service = self.pool.FindServiceByName("kuadrant.service.ratelimit.v1.RateLimitService")
        return self.ask(*descriptors, method=service.FindMethodByName(name), **more)

    def test_a_check_charges_nothing_and_a_report_everything(self):
        acme = descriptor(("tenant", "acme"))
        for _ in range(3):
            self.assertEqual(self.kuadrant("CheckRateLimit", acme)["overall_code"], "OK")
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 0)
        self.assertEqual(self.kuadrant("Report", acme, hits_addend=7)["overall_code"], "OK")
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 7, "past the limit")
        self.assertEqual(self.kuadrant("CheckRateLimit", acme)["overall_code"], "OVER_LIMIT")
        self.assertEqual(self.kuadrant("CheckRateLimit", descriptor(("nothing", "x")))["overall_code"], "OK")
        self.assertEqual(self.kuadrant("CheckRateLimit", acme, domain="nobody")["overall_code"], "OK")

    def test_reservations_are_held_until_they_are_committed(self):
        tokens = descriptor(("tokens", "x"))
        reserve = lambda amount: self.kuadrant("Reserve", tokens, amount=str(amount), ttl="60s")
        commit = lambda id, amount: self.kuadrant("Commit", tokens, reservation_id=id, actual_amount=str(amount))["reservation_released"]
        usage = lambda: self.server.ask("USAGE", "envoy.shop.tokens", "x")[:2]
        one, two = reserve(60), reserve(30)
        self.assertEqual((one["code"], two["code"], usage()), ("OK", "OK", [0, 90]))
        self.assertEqual(reserve(11), {"code": "OVER_LIMIT", "reservation_id": ""})
        self.assertEqual(self.kuadrant("CheckRateLimit", tokens, hits_addend=11)["overall_code"], "OVER_LIMIT",
                         "what is reserved counts")
        self.assertTrue(commit(one["reservation_id"], 25))
        self.assertEqual(usage(), [25, 30])
        self.assertTrue(commit(two["reservation_id"], 40), "more than was reserved")
        self.assertEqual(usage(), [65, 0])
        self.assertFalse(commit(two["reservation_id"], 5), "it has ended: a report")
        self.assertFalse(commit("", 3))
        self.assertEqual(usage(), [73, 0])
        three = reserve(10)
        self.assertTrue(commit(three["reservation_id"], 0))
        self.assertEqual(usage(), [73, 0])
        self.assertEqual(reserve(1)["code"], "OK")
        blocked = self.kuadrant("Reserve", descriptor(("blocked", "x")), amount="1", ttl="60s")
        self.assertEqual(blocked["code"], "OVER_LIMIT")
        with self.assertRaises(grpc.RpcError):
            reserve(0)


class WithHeaders(EnvoyCase):
    flags = ("--envoy-response-headers",)

    def test_answers_bring_headers_for_the_response(self):
        headers = {each["key"]: each["value"] for each in self.ask(
            descriptor(("tenant", "acme")), descriptor(("tenant", "x"), ("path", "/login")))["response_headers_to_add"]}
        self.assertEqual((headers["RateLimit-Limit"], headers["RateLimit-Remaining"]), ("2", "1"))
        self.assertTrue(0 < int(headers["RateLimit-Reset"]) <= 86_400)
        self.assertEqual(self.ask(descriptor(("nothing", "x")))["response_headers_to_add"], [])


class WithPasswords(EnvoyCase):
    flags = ("--password", "admin", "--use-password", "use", "--use-without-give")

    def used(self, limit, key):
        with self.server.resp(password="admin") as client:
            return client.ask("USAGE", limit, key)[0]

    def test_who_may_not_give_gives_no_negative_hits(self):
        acme = descriptor(("tenant", "acme"))
        back = descriptor(("tenant", "acme"), hits_addend={"value": "2"}, is_negative_hits=True)
        self.ask(acme, hits_addend=3, password="use")
        with self.assertRaises(grpc.RpcError) as raised:
            self.ask(descriptor(("tenant", "other")), back, password="use")
        self.assertEqual(raised.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
        self.assertIn("use_without_give", raised.exception.details())
        self.assertEqual((self.used("envoy.shop.tenant", "acme"), self.used("envoy.shop.tenant", "other")), (3, 0))
        self.ask(back, password="admin")
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 1)


class WithoutRules(unittest.TestCase):
    def test_bad_files_refuse_the_start(self):
        folder = harness.Folder(self)
        folder.write("a.yaml", "domain: d\ndescriptors:\n  - value: x\n")
        for command in (["serve", "--data", "", "--envoy"], ["envoy", "check"]):
            ended = harness.run(harness.program, *command, str(folder.path), check=False)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("a.yaml:3: a descriptor has no key", ended.stderr)

    def test_shares_are_refused_where_none_can_be_drawn(self):
        folder = harness.Folder(self)
        folder.write("a.yaml", "domain: d\ndescriptors:\n  - key: x\n    rate_limit: {unit: day, requests_per_unit: 1, "
                               "mete: {scope: escrow}}\n")
        ended = harness.run(harness.program, "serve", "--data", "", "--envoy", str(folder.path), check=False)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("a.yaml:3: scope: escrow needs", ended.stderr)

    def test_without_a_folder_the_service_says_so(self):
        server = harness.Server(self, "--grpc", "127.0.0.1:0")
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            with self.assertRaises(grpc.RpcError) as raised:
                channel.unary_unary(f"/{SERVICE}/ShouldRateLimit")(b"", timeout=SECONDS)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn("--envoy", raised.exception.details())


class Check(unittest.TestCase):
    def setUp(self):
        self.file = harness.Folder(self).write("shop.yaml", RULES)

    def check(self, *options):
        ended = harness.run(harness.program, "envoy", "check", self.file, *options, check=False)
        return ended.returncode, ended.stdout

    def test_rules_are_told(self):
        status, text = self.check()
        self.assertEqual(status, 0)
        self.assertIn("shop.yaml:7  shop.tenant.path_/login\n    calendar, amount 2, period day, durable everysec\n"
                      "    limit envoy.shop.tenant.path_/login, a meter for each tenant\n", text)
        self.assertTrue(text.endswith("the rules are good: 10 rules in 1 domain\n"), text)

    def test_requests_are_explained(self):
        status, text = self.check("--request", "shop:tenant=acme,path=/login")
        self.assertEqual(status, 0)
        self.assertIn('"path=/login" meets "path_/login", exactly\n', text)
        self.assertIn('limit envoy.shop.tenant.path_/login, key "acme"\n', text)
        status, text = self.check("--request", "shop:tenant=acme,path=/other")
        self.assertEqual((status, text.splitlines()[-1]), (1, '"path=/other" meets no descriptor on its level: the request passes'))
        self.assertEqual(self.check("--request", "nobody:tenant=acme")[0], 1)
        self.assertEqual(self.check("--request", "tenant=acme")[0], 2)


if __name__ == "__main__":
    harness.main()
