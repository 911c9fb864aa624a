#!/usr/bin/env python3
"""/v1/check behind Caddy and HAProxy, as docs/proxies.md has them."""

import http.client
import http.server
import os
import re
import shutil
import subprocess
import threading
import unittest
from pathlib import Path

import harness

PAGE = Path(__file__).resolve().parents[2] / "docs" / "proxies.md"


class Application(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *_):
        pass


class Proxy(unittest.TestCase):
    def setUp(self):
        application = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
        threading.Thread(target=application.serve_forever, daemon=True).start()
        self.addCleanup(application.server_close)
        self.addCleanup(application.shutdown)
        self.mete = harness.Server(self)
        self.mete.ask("LIMIT", "SET", "api", "BUCKET", "4", "PER", "1h")
        self.port = harness.free_port()
        self.places = {"8380": self.mete.http_port, "3000": application.server_address[1], "8080": self.port}
        self.folder = harness.Folder(self)

    def recipe(self, language):
        [text] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)
        for documented, here in self.places.items():
            text = re.sub(rf":{documented}\b", f":{here}", text)
        return text

    def start(self, *words):
        harness.require(words[0])
        log = open(self.folder / "log", "wb")
        self.addCleanup(log.close)
        environment = {**os.environ, "HOME": str(self.folder.path), "XDG_DATA_HOME": str(self.folder.path),
                       "XDG_CONFIG_HOME": str(self.folder.path)}
        process = subprocess.Popen([shutil.which(words[0], path=harness.search_path()), *words[1:]], stdout=log,
                                   stderr=log, cwd=self.folder.path, env=environment)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)

        def listens():
            self.assertIsNone(process.poll(), Path(self.folder / "log").read_text())
            try:
                harness.Socket(self.port).close()
                return True
            except OSError:
                return False
        harness.wait_until(listens, words[0])

    def ask(self, method="GET", path="/", body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        try:
            return harness.ask_http(connection, method, path, body, headers)
        finally:
            connection.close()

    def check_limit(self, methods):
        for method in methods:
            answer = self.ask(method, "/x?limit=other&key=victim", headers={"Mete-Key": "victim", "Mete-Cost": "4"})
            self.assertEqual((answer.status, answer.body), (200, b"hello"))
        answer = self.ask()
        self.assertEqual(answer.status, 429)
        self.assertTrue(0 < int(answer.headers["Retry-After"]) <= 3600)
        self.assertEqual([self.mete.ask("USAGE", "api", key)[0] for key in ("127.0.0.1", "victim")], [4, 0])


class Caddy(Proxy):
    def test_it_asks_before_each_request_and_fails_closed(self):
        config = "{\n\tadmin off\n\tauto_https off\n}\n" + self.recipe("caddyfile")
        self.start("caddy", "run", "--adapter", "caddyfile", "--config", self.folder.write("Caddyfile", config))
        self.check_limit(["GET", "POST", "PUT", "DELETE"])
        self.mete.stop()
        self.assertEqual(self.ask().status, 502)


class HaProxy(Proxy):
    def test_it_asks_before_each_request_and_fails_closed(self):
        self.folder.write("mete.lua", self.recipe("lua"))
        self.start("haproxy", "-db", "-f", self.folder.write("haproxy.cfg", self.recipe("haproxy")))
        self.check_limit(["GET", "POST", "PUT", "DELETE"])
        self.mete.stop()
        self.assertEqual(self.ask().status, 503)


if __name__ == "__main__":
    harness.main()
