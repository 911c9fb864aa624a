#!/usr/bin/env python3
"""A real Envoy that asks Mete about every request: denials, Retry-After, a Mete that goes and comes back."""

import http.client
import http.server
import os
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import harness
import python_packages
import redis_server

if __name__ == "__main__":
    python_packages.run_with_packages()

RULES = """
domain: shop
descriptors:
  - key: tenant
    rate_limit: {unit: day, requests_per_unit: 3}
  - key: tenant
    value: quiet
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: endpoint
    value: login
    descriptors:
      - key: remote_address
        rate_limit: {unit: day, requests_per_unit: 2}
"""

BOOTSTRAP = """
admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {admin}}}}}}}
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              {per_host}
              routes:
              - match: {{prefix: /login}}
                route:
                  cluster: origin
                  rate_limits:
                  - actions: [{{generic_key: {{descriptor_key: endpoint, descriptor_value: login}}}}, {{remote_address: {{}}}}]
              - match: {{prefix: /}}
                route:
                  cluster: origin
                  rate_limits:
                  - actions: [{{request_headers: {{header_name: x-tenant, descriptor_key: tenant}}}}]
          http_filters:
{filters}          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: origin
    load_assignment: {{cluster_name: origin, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address:
      {{address: 127.0.0.1, port_value: {origin}}}}}}}}}]}}]}}
  - name: mete_http
    load_assignment: {{cluster_name: mete_http, endpoints: [{{lb_endpoints: [{mete_http}]}}]}}
  - name: mete
    {health}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}
    load_assignment: {{cluster_name: mete, endpoints: [{{lb_endpoints: [{mete}]}}]}}
"""


RATE_LIMIT = """          - name: envoy.filters.http.ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: shop
              failure_mode_deny: true
              timeout: {timeout}
              enable_x_ratelimit_headers: DRAFT_VERSION_03
              rate_limit_service:
                transport_api_version: V3
                grpc_service:
                  envoy_grpc: {{cluster_name: mete}}
                  initial_metadata: [{{key: authorization, value: Bearer sesame}}]
"""

AUTHORIZATION = """          - name: envoy.filters.http.ext_authz
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
              transport_api_version: V3
              grpc_service:
                envoy_grpc: {{cluster_name: mete}}
                timeout: {timeout}
                initial_metadata: [{{key: authorization, value: Bearer sesame}}]
"""
AUTHORIZATION_OF_HOST = """typed_per_filter_config:
                envoy.filters.http.ext_authz:
                  "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                  check_settings: {context_extensions: {limit: api, cost: "2", key_from: "header:x-tenant,address"}}"""

AUTHORIZATION_BY_HTTP = """          - name: envoy.filters.http.header_mutation
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation
              mutations:
                request_mutations:
                - append:
                    header: {{key: mete-key, value: "%REQ(x-tenant)%"}}
                    append_action: OVERWRITE_IF_EXISTS_OR_ADD
          - name: envoy.filters.http.ext_authz
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
              transport_api_version: V3
              allowed_headers: {{patterns: [{{exact: mete-key}}]}}
              http_service:
                server_uri: {{uri: "http://mete", cluster: mete_http, timeout: {timeout}}}
                path_prefix: /v1/check
                authorization_request:
                  headers_to_add: [{{key: mete-limit, value: api}}, {{key: authorization, value: Bearer sesame}}]
                authorization_response:
                  allowed_client_headers: {{patterns: [{{exact: retry-after}}, {{prefix: x-ratelimit}}]}}
"""

HEALTH_CHECKS = """health_checks: [{timeout: 5s, interval: 0.1s, no_traffic_interval: 0.1s, unhealthy_threshold: 1,
      healthy_threshold: 1, grpc_health_check: {}}]"""

ENDPOINT = "{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}}}"


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *_):
        pass


class EnvoyCase(unittest.TestCase):
    timeout = "5s"
    servers = 1
    filters = RATE_LIMIT
    per_host = ""
    health = ""
    flags = ()

    def setUp(self):
        folder = harness.Folder(self)
        self.rules = str(folder.write("shop.yaml", RULES))
        self.grpc_ports = [harness.free_port() for _ in range(self.servers)]
        self.all_servers = [self.start_mete(port) for port in self.grpc_ports]
        self.server = self.all_servers[0]
        origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        self.addCleanup(origin.server_close)
        self.addCleanup(origin.shutdown)
        self.start_envoy(folder, origin.server_address[1])

    def start_mete(self, port):
        return harness.Server(self, "--grpc", f"127.0.0.1:{port}", "--envoy", self.rules, "--use-password", "sesame",
                              "--password", "admin", *self.flags)

    def used(self, limit, key):
        with self.server.resp(password="admin") as client:
            return client.ask("USAGE", limit, key)[0]

    def metric(self, name):
        text = harness.ask_http(self.server.http(), "GET", "/metrics", headers={"Authorization": "Bearer admin"}).body.decode()
        return int(re.search(rf"^{name} (\d+)$", text, re.M)[1])

    def start_envoy(self, folder, origin):
        self.port, admin = harness.free_port(), harness.free_port()
        config = folder.write("envoy.yaml", BOOTSTRAP.format(
            port=self.port, admin=admin, origin=origin, filters=self.filters.format(timeout=self.timeout),
            per_host=self.per_host, health=self.health, mete_http=ENDPOINT.format(port=self.server.http_port),
            mete=", ".join(ENDPOINT.format(port=port) for port in self.grpc_ports)))
        log = open(folder / "envoy.log", "wb")
        self.addCleanup(log.close)
        envoy = next(Path(path) / "envoy/_bin/envoy" for path in sys.path if (Path(path) / "envoy/_bin/envoy").exists())
        if not os.access(envoy, os.X_OK):
            envoy.chmod(0o755)
        process = subprocess.Popen([str(envoy), "-c", str(config), "--concurrency", "1", "--disable-hot-restart",
                                    "-l", "warning"], stdout=log, stderr=log)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)

        def is_ready():
            self.assertIsNone(process.poll(), Path(folder / "envoy.log").read_text())
            try:
                return self.is_awake()
            except OSError:
                return False
        harness.wait_until(is_ready, "an answer of Envoy", 60)

    def is_awake(self):
        return self.ask(None).status == 200

    def ask(self, tenant, method="GET", path="/"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        try:
            connection.request(method, path, headers={"x-tenant": tenant} if tenant else {})
            response = connection.getresponse()
            response.read()
            return response
        finally:
            connection.close()


class BehindEnvoy(EnvoyCase):
    def test_requests_pass_until_the_limit(self):
        answers = [self.ask("acme", method) for method in ("GET", "POST", "GET", "GET", "POST")]
        self.assertEqual([answer.status for answer in answers], [200, 200, 200, 429, 429])
        self.assertEqual(answers[0].getheader("x-ratelimit-remaining"), "2")
        self.assertIn("3", answers[0].getheader("x-ratelimit-limit"))
        self.assertTrue(0 < int(answers[3].getheader("x-ratelimit-reset")) <= 86_400)
        self.assertEqual(self.ask("other").status, 200, "each tenant has a meter of its own")
        self.assertEqual(self.ask(None).status, 200, "without the header there is no descriptor")
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 3)

    def test_routes_have_descriptors_of_their_own(self):
        statuses = [self.ask("acme", path="/login").status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])
        self.assertEqual(self.ask("acme").status, 200, "the other route counts by tenants")
        self.assertEqual(self.used("envoy.shop.endpoint_login.remote_address", "127.0.0.1"), 2)

    def test_shadow_rules_refuse_nobody(self):
        self.assertEqual([self.ask("quiet").status for _ in range(4)], [200] * 4)

    def test_mete_goes_and_comes_back(self):
        for go in (lambda: self.server.stop(), lambda: self.server.kill()):
            self.assertEqual(self.ask("acme").status, 200)
            go()
            self.assertEqual(self.ask("acme").status, 500, "failure_mode_deny")
            self.server = self.start_mete(self.grpc_ports[0])
            harness.wait_until(lambda: self.ask("back").status == 200, "an answer by the server that has started again", 60)


class InAHurry(EnvoyCase):
    timeout = "0.020s"  # Envoy's own, where nothing is configured

    def test_what_nobody_waits_for_any_more_is_not_charged(self):
        harness.wait_until(lambda: self.ask("warm").status == 200, "an answer in time")
        self.server.signal(19)  # SIGSTOP
        try:
            self.assertEqual([self.ask("acme").status for _ in range(3)], [500] * 3, "failure_mode_deny, and soon")
        finally:
            self.server.signal(18)
        harness.wait_until(lambda: self.ask(None).status == 200, "an answer")
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 0)


class WithTwoServers(EnvoyCase):
    servers = 2
    health = HEALTH_CHECKS
    flags = ("--drain-time", "5s")  # far longer than Envoy needs to notice

    def test_one_stops_without_a_failed_request(self):
        statuses, ends = [], threading.Event()

        def ask():
            while not ends.is_set():
                statuses.append(self.ask(f"tenant-{len(statuses)}").status)

        askers = [threading.Thread(target=ask) for _ in range(4)]
        for asker in askers:
            asker.start()
        harness.wait_until(lambda: len(statuses) > 100)
        self.assertEqual(self.all_servers[1].stop(), 0)
        before = len(statuses)
        harness.wait_until(lambda: len(statuses) > before + 200)
        ends.set()
        for asker in askers:
            asker.join()
        self.assertEqual(set(statuses), {200})


class WithAuthorization(EnvoyCase):
    """ext_authz by gRPC: the route says which limit, and by what it counts."""
    filters = AUTHORIZATION
    per_host = AUTHORIZATION_OF_HOST

    def is_awake(self):
        return self.ask("nobody").status in (200, 403)  # the limit is not there yet

    def test_all_methods_pass_until_the_limit(self):
        with self.server.resp(password="admin") as client:
            client.ask("LIMIT", "SET", "api", "BUCKET", 7, "PER", "1h")
        answers = [self.ask("acme", method) for method in ("GET", "POST", "DELETE", "PUT")]
        self.assertEqual([answer.status for answer in answers], [200, 200, 200, 429])
        self.assertEqual(answers[0].getheader("x-ratelimit-remaining"), "5")
        self.assertEqual(answers[0].getheader("ratelimit-policy"), '"api";q=7;w=3600')
        self.assertTrue(0 < int(answers[3].getheader("retry-after")) <= 3600)
        self.assertEqual(self.used("api", "acme"), 6)
        self.assertEqual(self.ask(None).status, 200)
        self.assertEqual(self.used("api", "127.0.0.1"), 2, "without the header by the address")
        self.assertEqual(self.ask("victim&limit=other", path="/?limit=other&key=victim").status, 200)
        self.assertEqual(self.used("api", "victim&limit=other"), 2)


class WithAuthorizationByHttp(EnvoyCase):
    """The same over HTTP: Envoy appends its client's path and query to the prefix, and keeps the method."""
    filters = AUTHORIZATION_BY_HTTP

    def is_awake(self):
        return self.ask("nobody").status in (200, 404)

    def test_all_methods_pass_until_the_limit(self):
        with self.server.resp(password="admin") as client:
            client.ask("LIMIT", "SET", "api", "STOCK", 4)
        path = "/a/b%2F?limit=api&key=victim&cost=4"
        statuses = [self.ask("acme", method, path).status for method in ("GET", "POST", "DELETE", "PUT", "GET")]
        self.assertEqual(statuses, [200, 200, 200, 200, 429])
        self.assertEqual((self.used("api", "acme"), self.used("api", "victim")), (4, 0))


class OverRedis(EnvoyCase):
    servers = 2

    def setUp(self):
        self.flags = ("--store", redis_server.Redis(self).url())
        super().setUp()

    def start_mete(self, port):
        return harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--grpc", f"127.0.0.1:{port}",
                              "--envoy", self.rules, "--use-password", "sesame", "--password", "admin", *self.flags,
                              listen=False)

    def test_two_servers_count_together(self):
        statuses = [self.ask("acme").status for _ in range(6)]
        self.assertEqual(statuses, [200] * 3 + [429] * 3)
        self.assertEqual(self.used("envoy.shop.tenant", "acme"), 3)


if __name__ == "__main__":
    harness.main()
