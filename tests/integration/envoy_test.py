#!/usr/bin/env python3
"""A real Envoy that asks Mete about every request: denials, Retry-After, a Mete that goes and comes back."""

import http.client
import http.server
import os
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import harness
import python_packages

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
              routes:
              - match: {{prefix: /}}
                route:
                  cluster: origin
                  rate_limits:
                  - actions: [{{request_headers: {{header_name: x-tenant, descriptor_key: tenant}}}}]
          http_filters:
          - name: envoy.filters.http.ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: shop
              failure_mode_deny: true
              timeout: 5s
              enable_x_ratelimit_headers: DRAFT_VERSION_03
              rate_limit_service:
                transport_api_version: V3
                grpc_service:
                  envoy_grpc: {{cluster_name: mete}}
                  initial_metadata: [{{key: authorization, value: Bearer sesame}}]
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: origin
    load_assignment: {{cluster_name: origin, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address:
      {{address: 127.0.0.1, port_value: {origin}}}}}}}}}]}}]}}
  - name: mete
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}
    load_assignment: {{cluster_name: mete, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address:
      {{address: 127.0.0.1, port_value: {mete}}}}}}}}}]}}]}}
"""


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_POST = do_GET

    def log_message(self, *_):
        pass


class BehindEnvoy(unittest.TestCase):
    def setUp(self):
        folder = harness.Folder(self)
        rules = str(folder.write("shop.yaml", RULES))
        self.grpc_port = harness.free_port()
        self.flags = ("--grpc", f"127.0.0.1:{self.grpc_port}", "--envoy", rules, "--use-password", "sesame",
                      "--password", "admin")
        self.server = harness.Server(self, *self.flags)
        origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        self.addCleanup(origin.server_close)
        self.addCleanup(origin.shutdown)
        self.start_envoy(folder, origin.server_address[1])

    def start_envoy(self, folder, origin):
        self.port, admin = harness.free_port(), harness.free_port()
        config = folder.write("envoy.yaml", BOOTSTRAP.format(port=self.port, admin=admin, origin=origin, mete=self.grpc_port))
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
                return self.ask(None).status == 200
            except OSError:
                return False
        harness.wait_until(is_ready, "an answer of Envoy", 60)

    def ask(self, tenant, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        try:
            connection.request(method, "/", headers={"x-tenant": tenant} if tenant else {})
            response = connection.getresponse()
            response.read()
            return response
        finally:
            connection.close()

    def test_requests_pass_until_the_limit(self):
        answers = [self.ask("acme", method) for method in ("GET", "POST", "GET", "GET", "POST")]
        self.assertEqual([answer.status for answer in answers], [200, 200, 200, 429, 429])
        self.assertEqual(answers[0].getheader("x-ratelimit-remaining"), "2")
        self.assertIn("3", answers[0].getheader("x-ratelimit-limit"))
        self.assertTrue(0 < int(answers[3].getheader("x-ratelimit-reset")) <= 86_400)
        self.assertEqual(self.ask("other").status, 200, "each tenant has a meter of its own")
        self.assertEqual(self.ask(None).status, 200, "without the header there is no descriptor")
        with self.server.resp(password="admin") as client:
            self.assertEqual(client.ask("USAGE", "envoy.shop.tenant", "acme")[0], 3)

    def test_shadow_rules_refuse_nobody(self):
        self.assertEqual([self.ask("quiet").status for _ in range(4)], [200] * 4)

    def test_mete_goes_and_comes_back(self):
        self.assertEqual(self.ask("acme").status, 200)
        self.server.stop()
        self.assertEqual(self.ask("acme").status, 500, "failure_mode_deny")
        self.server = harness.Server(self, *self.flags)
        harness.wait_until(lambda: self.ask("back").status == 200, "an answer by the server that has started again", 60)


if __name__ == "__main__":
    harness.main()
