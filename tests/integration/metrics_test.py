#!/usr/bin/env python3
"""/metrics by Prometheus's own rules, what its counters count, and INFO."""

import re
import unittest

import harness


def parse(text):
    """Samples by name and labels, as text: {'mete_keys': 3.0, …}."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in text.splitlines() if line and not line.startswith("#")}


class Metrics(unittest.TestCase):
    def setUp(self):
        harness.require("promtool")
        self.server = harness.Server(self)
        self.client = self.server.resp()

    def text(self):
        response = harness.ask_http(self.server.http(), "GET", "/metrics")
        self.assertEqual(response.type, "text/plain")
        return response.body.decode()

    def samples(self):
        return parse(self.text())

    def make_traffic(self):
        for command in ("LIMIT SET api STOCK 3", "LIMIT SET shadow STOCK 1 SHADOW", 'LIMIT SET we"ird\\ STOCK 1',
                        'TAKE we"ird\\ k', "TAKE api k", "TAKE api k", "TAKE api k COST 2", "TAKE api k AND shadow k COST 2",
                        "HOLD api other COST 2 TTL 1h ID h", "HOLD api other TTL 20ms ID short", "INCR n", "LIMIT OVERRIDE api vip 7",
                        "NONSENSE", "TAKE api"):
            self.client.line(command)
        with self.server.raw_resp() as bad:
            bad.send(b"*-2\r\n")
            bad.read_to_end()
        harness.ask_http(self.server.http(), "POST", "/v1/take", {"charges": [{"limit": "api", "key": "web"}]})

    def test_promtool_has_nothing_to_say(self):
        self.make_traffic()
        result = harness.run("promtool", "check", "metrics", input=self.text(), check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_a_fresh_server_passes_too(self):
        result = harness.run("promtool", "check", "metrics", input=self.text(), check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_what_counters_count(self):
        self.make_traffic()
        # An orphan is counted when somebody asks for it, or at the next sweep.
        harness.wait_until(lambda: self.client.line("HOLD.GET short")[1] == b"expired")
        self.assertEqual(self.client.line("COMMIT short").code, "EXPIRED")
        samples = self.samples()
        wanted = {
            'mete_decisions_total{limit="api",outcome="allowed"}': 6,  # three takes, two holds, one over HTTP
            'mete_decisions_total{limit="api",outcome="denied"}': 1,
            'mete_decisions_total{limit="we\\"ird\\\\",outcome="allowed"}': 1,
            'mete_shadow_denials_total{limit="shadow"}': 1,
            "mete_limits": 3,
            "mete_overrides": 1,
            "mete_keys": 1,
            "mete_holds_active": 1,
            "mete_holds_expired_total": 1,
            "mete_protocol_errors_total": 1,
            "mete_command_errors_total": 3,
            "mete_waiting_takes": 0,
            "mete_fail_open_admissions_total": 0,
            'mete_config_reloads_total{result="success"}': 0,
        }
        for name, value in wanted.items():
            with self.subTest(name):
                self.assertEqual(samples.get(name), value)
        for name in ("mete_received_bytes_total", "mete_sent_bytes_total", "mete_commands_total", "mete_meters",
                     "mete_http_requests_total", "mete_connections", "mete_connections_accepted_total",
                     "mete_store_memory_bytes", "mete_request_duration_seconds_count", "mete_request_duration_seconds_sum",
                     "process_resident_memory_bytes", "process_cpu_seconds_total"):
            with self.subTest(name):
                self.assertGreater(samples.get(name, 0), 0)
        self.assertTrue([name for name in samples if re.match(r'mete_build_info\{.*version="[0-9.]+"', name)])

    def test_the_histogram_adds_up(self):
        self.make_traffic()
        samples = self.samples()
        buckets = [(float(re.search(r'le="([^"]+)"', name)[1].replace("+Inf", "inf")), value)
                   for name, value in samples.items() if name.startswith("mete_request_duration_seconds_bucket")]
        self.assertGreater(len(buckets), 5)
        self.assertEqual(buckets, sorted(buckets))
        counts = [count for _, count in buckets]
        self.assertEqual(counts, sorted(counts))
        self.assertEqual(counts[-1], samples["mete_request_duration_seconds_count"])

    def test_the_histogram_counts_http_too(self):
        count = lambda: self.samples()["mete_request_duration_seconds_count"]
        before = count()
        self.assertEqual(count(), before + 1)  # the request for it

    def test_limits_that_are_gone_are_told_no_more(self):
        self.make_traffic()
        self.client.line("LIMIT DEL api")
        for text in (self.text(), self.client.line("INFO limits").decode(), str(self.client.line("TOP")[1])):
            self.assertNotRegex(text, r'limit="api"|limit_api|b\'api\'')
            self.assertIn("shadow", text)
        self.assertIn(b"decisions_denied:1\r\n", self.client.line("INFO stats"))
        self.client.line("LIMIT SET api STOCK 3")
        self.client.line("TAKE api k")
        self.assertIn('mete_decisions_total{limit="api",outcome="allowed"}', self.text())

    def test_names_that_are_not_utf_8(self):
        name = b'a"\\\xff\xc3\xa9'
        self.client.ask("LIMIT", "SET", name, "STOCK", 3)
        self.client.ask("TAKE", name, "k")
        self.assertIn('mete_decisions_total{limit="a\\"\\\\\\\\xffé",outcome="allowed"} 1\n', self.text())

    def test_counters_only_grow(self):
        self.make_traffic()
        first, second = self.samples(), self.samples()
        for name, value in first.items():
            if "_total" in name or "_bucket" in name:
                self.assertGreaterEqual(second[name], value, name)

    def test_info_has_sections(self):
        self.make_traffic()
        text = self.client.line("INFO").decode()
        sections = {}
        for line in text.splitlines():
            if line.startswith("# "):
                section = sections.setdefault(line[2:].lower(), {})
            elif line:
                name, value = line.split(":", 1)
                section[name] = value
        for name in ("server", "clients", "memory", "persistence", "stats", "replication", "cpu", "keyspace"):
            self.assertIn(name, sections)
        self.assertEqual(sections["server"]["tcp_port"], str(self.server.resp_port))
        self.assertEqual(sections["server"]["process_id"], str(self.server.process.pid))
        self.assertEqual(sections["stats"]["decisions_denied"], "1")
        self.assertGreater(int(sections["memory"]["used_memory"]), 0)
        for section in sections:
            with self.subTest(section):
                one = self.client.line(f"INFO {section}").decode()
                self.assertEqual(re.findall("^# (.+?)\r?$", one, re.M), [one[2:].split("\r")[0]])
                self.assertEqual(one[2:].split("\r")[0].lower(), section)
        self.assertEqual(len(re.findall("^# ", self.client.line("INFO server stats").decode(), re.M)), 2)
        self.assertEqual(self.client.line("INFO nobody"), b"")
        for word in ("all", "everything", "default"):
            self.assertIn(b"# Server", self.client.line(f"INFO {word}"))


if __name__ == "__main__":
    harness.main()
