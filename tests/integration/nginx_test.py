#!/usr/bin/env python3
"""GET /v1/check behind a real nginx with auth_request, as docs/nginx.md has it."""

import http.client
import http.server
import re
import shutil
import subprocess
import threading
import unittest
from pathlib import Path

import harness

RECIPE = Path(__file__).resolve().parents[2] / "docs" / "nginx.md"


class Application(http.server.BaseHTTPRequestHandler):
    """What nginx protects: says hello, or what it is asked to say."""

    asked = 0
    body_bytes = 0

    def do_GET(self):
        Application.asked += 1
        Application.body_bytes += len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        status = int(self.path.removeprefix("/status/")) if self.path.startswith("/status/") else 200
        self.send_response(status)
        self.send_header("Content-Length", "5")
        self.send_header("X-Application", "yes")
        self.end_headers()
        self.wfile.write(b"hello")

    do_POST = do_GET

    def log_message(self, *_):
        pass


class Nginx(unittest.TestCase):
    def setUp(self):
        harness.require("nginx")
        Application.asked = Application.body_bytes = 0
        application = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
        threading.Thread(target=application.serve_forever, daemon=True).start()
        self.addCleanup(application.server_close)
        self.addCleanup(application.shutdown)
        self.mete = harness.Server(self)
        self.mete.ask("LIMIT", "SET", "api", "BUCKET", "2", "PER", "1h")
        self.port = harness.free_port()
        self.application_port = application.server_address[1]

    def start_nginx(self, with_key_from_header=False, with_key_from_path=False):
        recipe, key_map = re.findall(r"```nginx\n(.*?)```", RECIPE.read_text(), re.S)
        if with_key_from_header:
            self.assertIn("Mete-Key $remote_addr", recipe)
            recipe = key_map + recipe.replace("Mete-Key $remote_addr", "Mete-Key $mete_key")
        if with_key_from_path:
            recipe = recipe.replace("/v1/check?limit=api;", "/v1/check?limit=api&raw_key=$request_uri;")
        for documented, here in (("127.0.0.1:8380", f"127.0.0.1:{self.mete.http_port}"),
                                 ("127.0.0.1:3000", f"127.0.0.1:{self.application_port}"),
                                 ("listen 8080", f"listen 127.0.0.1:{self.port}")):
            self.assertIn(documented, recipe)
            recipe = recipe.replace(documented, here)
        folder = harness.Folder(self)
        paths = "".join(f"{name}_temp_path {folder / name};\n"
                        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config = folder.write("nginx.conf", f"daemon off;\nmaster_process off;\npid {folder / 'pid'};\n"
                                            f"error_log {folder / 'error.log'};\nevents {{}}\n"
                                            f"http {{\naccess_log off;\n{paths}{recipe}}}\n")
        words = [shutil.which("nginx", path=harness.search_path()), "-p", str(folder.path), "-c", config]
        harness.run(*words, "-t", "-e", folder / "error.log")
        nginx = subprocess.Popen([*words, "-e", folder / "error.log"])

        def end():
            nginx.terminate()
            nginx.wait(harness.PATIENCE_S)

        self.addCleanup(end)
        harness.wait_until(self.is_listening, "nginx")

    def is_listening(self):
        try:
            harness.Socket(self.port).close()
            return True
        except ConnectionError:
            return False

    def ask(self, path="/", method="GET", body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        try:
            return harness.ask_http(connection, method, path, body, headers)
        finally:
            connection.close()

    def test_allowed_and_denied_reach_the_client_with_their_headers(self):
        self.start_nginx()
        for remaining in (1, 0):
            response = self.ask()
            self.assertEqual((response.status, response.body), (200, b"hello"))
            self.assertEqual(response.headers["X-Application"], "yes")
            self.assertEqual(response.headers["RateLimit-Policy"], '"api";q=2;w=3600')
            self.assertRegex(response.headers["RateLimit"], rf'^"api";r={remaining};t=\d+$')
            self.assertEqual(response.headers["X-RateLimit-Limit"], "2")
            self.assertEqual(response.headers["X-RateLimit-Remaining"], str(remaining))
            self.assertRegex(response.headers["X-RateLimit-Reset"], r"^\d{10}$")
            self.assertNotIn("Retry-After", response.headers)
        response = self.ask()
        self.assertEqual(response.status, 429)
        self.assertRegex(response.headers["RateLimit"], r'^"api";r=0;t=\d+$')
        self.assertEqual(response.headers["RateLimit-Policy"], '"api";q=2;w=3600')
        self.assertEqual(response.headers["X-RateLimit-Remaining"], "0")
        self.assertTrue(0 < int(response.headers["Retry-After"]) <= 1800)
        self.assertEqual(Application.asked, 2)  # The denied one did not get there.

    def test_a_key_from_a_header(self):
        self.start_nginx(with_key_from_header=True)
        for key, status in (("a", 200), ("b", 200), ("a", 200), ("a", 429), ("b", 200), ("b", 429)):
            self.assertEqual(self.ask(headers={"X-Api-Key": key}).status, status)
        # What is no key counts for the address: nobody passes for nothing.
        statuses = [self.ask(headers={"X-Api-Key": "c&cost=0"}).status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])

    def test_a_path_is_a_key_and_nothing_else(self):
        self.start_nginx(with_key_from_path=True)
        for path in ("/x", "/x&limit=api&key=victim", "/x&cost=0", "/x?limit=api&raw_key=victim"):
            self.assertEqual([self.ask(path).status for _ in range(3)], [200, 200, 429], path)
            self.assertEqual(self.mete.ask("USAGE", "api", path)[0], 2)
        self.assertEqual(self.mete.ask("USAGE", "api", "victim")[0], 0)

    def test_what_clients_send_as_metes_headers_says_nothing(self):
        self.start_nginx()
        self.assertEqual(self.ask(headers={"Mete-Key": "victim", "Mete-Cost": "2"}).status, 200)
        self.assertEqual((self.mete.ask("USAGE", "api", "127.0.0.1")[0], self.mete.ask("USAGE", "api", "victim")[0]), (1, 0))

    def test_a_body_goes_to_the_application_alone(self):
        self.start_nginx()
        self.assertEqual(self.ask(method="POST", body=b"x" * 100_000).status, 200)
        self.assertEqual(Application.body_bytes, 100_000)

    def test_errors_of_the_application_are_its_own(self):
        self.start_nginx()
        for status in (500, 404):
            response = self.ask(f"/status/{status}")
            self.assertEqual((response.status, response.body), (status, b"hello"))
            self.assertEqual(response.headers["X-RateLimit-Limit"], "2")

    def test_the_question_cannot_be_asked_from_outside(self):
        self.start_nginx()
        self.assertEqual(self.ask("/_mete").status, 404)

    def test_it_fails_closed(self):
        self.start_nginx()
        self.mete.ask("LIMIT", "DEL", "api")
        self.assertEqual(self.ask().status, 503)
        self.mete.stop()
        self.assertEqual(self.ask().status, 503)
        self.assertEqual(Application.asked, 0)


if __name__ == "__main__":
    harness.main()
