#!/usr/bin/env python3
"""Passwords, roles, TLS, and clients that mean harm."""

import fcntl
import http.client
import json
import os
import re
import signal
import socket
import ssl
import time
import unittest
from pathlib import Path

import harness
from harness import Simple, encode

DELAY_MIN_S = 0.1  # of an answer to a wrong password


class Passwords(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(cls, "--password", "the admin's", "--use-password", "the user's")
        with cls.server.resp(password="the admin's") as client:
            client.line("LIMIT SET api STOCK 100")

    def test_right_ones(self):
        client = self.server.resp()
        for words in (["the admin's"], ["default", "the admin's"], ["the user's"], ["default", "the user's"]):
            with self.subTest(words):
                self.assertEqual(client.ask("AUTH", *words), Simple("OK"))
                self.assertEqual(client.ask("PING"), Simple("PONG"))
        client = self.server.resp()
        self.assertEqual(client.ask("HELLO", "3", "AUTH", "default", "the user's")[b"proto"], 3)

    def test_wrong_ones_are_slow_for_who_tries_and_for_nobody_else(self):
        bystander = self.server.resp(password="the user's")
        for words in (["AUTH", "wrong"], ["AUTH", ""], ["AUTH", "the admin's "], ["AUTH", "nobody", "the admin's"],
                      ["HELLO", "3", "AUTH", "default", "wrong"]):
            with self.subTest(words):
                client = self.server.resp()
                started = time.monotonic()
                client.send(encode(*words) + encode("PING"))
                bystander_asked = time.monotonic()
                self.assertEqual(bystander.ask("PING"), Simple("PONG"))
                bystander_waited = time.monotonic() - bystander_asked
                self.assertEqual(client.reply().code, "WRONGPASS")
                waited = time.monotonic() - started
                self.assertGreaterEqual(waited, DELAY_MIN_S)
                self.assertLess(bystander_waited, waited)
                self.assertEqual(client.reply().code, "NOAUTH")

    def test_who_has_said_none_can_do_nothing(self):
        client = self.server.resp()
        for command in ("PING", "TAKE api k", "INFO", "CONFIG GET *", "SHUTDOWN", "CLIENT LIST", "COMMAND", "MONITOR",
                        "LIMIT LIST", "NONSENSE", "SELECT 0", "GET x", "LIMIT", "FLUSHALL"):
            with self.subTest(command):
                self.assertEqual(client.line(command).code, "NOAUTH")
        self.assertEqual(client.line("HELLO 3").code, "NOAUTH")
        self.assertTrue(self.server.is_running())

    USE = ("PING", "TAKE api k", "PEEK api k", "GIVE api k", "USAGE api k", "HOLD api k TTL 1m ID h", "EXTEND h TTL 1m",
           "HOLD.GET h", "HOLDS api k", "COMMIT h", "LIMIT GET api", "LIMIT LIST", "INCR n", "CL.THROTTLE t 1 1 1",
           "QUOTAINCR q 1 60", "INFO", "CLIENT ID", "COMMAND COUNT")
    ADMIN = ("LIMIT SET new STOCK 1", "LIMIT DEL api", "LIMIT OVERRIDE api k 1", "FLUSHALL", "FLUSHDB", "CONFIG GET *",
             "CONFIG SET server.log_level error", "SHUTDOWN", "MONITOR", "CLIENT LIST", "CLIENT KILL ID 1", "SLOWLOG GET")

    def test_roles(self):
        user = self.server.resp(password="the user's")
        for command in self.USE:
            with self.subTest(command):
                self.assertNotIsInstance(user.line(command), harness.Failure)
        for command in self.ADMIN:
            with self.subTest(command):
                self.assertEqual(user.line(command).code, "NOPERM")
        admin = self.server.resp(password="the admin's")
        self.assertEqual(admin.line("LIMIT LIST"), [b"api"])

    def test_a_new_password_can_only_give_what_it_allows(self):
        client = self.server.resp(password="the admin's")
        self.assertEqual(client.ask("AUTH", "the user's"), Simple("OK"))
        self.assertEqual(client.line("FLUSHALL").code, "NOPERM")
        self.assertEqual(client.ask("AUTH", "wrong").code, "WRONGPASS")

    def test_passwords_are_shown_to_nobody(self):
        admin = self.server.resp(password="the admin's")
        values = admin.line("CONFIG GET *")
        self.assertFalse([value for value in values if b"the admin's" in value or b"the user's" in value])
        monitor = self.server.resp(password="the admin's")
        monitor.line("MONITOR")
        self.server.resp(password="the user's").line("PING")
        lines = [monitor.reply(), monitor.reply()]
        self.assertFalse([line for line in lines if "user's" in line])
        self.assertNotIn("user's", self.server.log() + self.server.banner)

    def ask_http(self, method, path, token=None, body=None, scheme="Bearer"):
        headers = {"Authorization": f"{scheme} {token}"} if token else {}
        return harness.ask_http(self.server.http(), method, path, body, headers)

    def test_http(self):
        take = {"charges": [{"limit": "api", "key": "k"}]}
        put = {"kind": "stock", "amount": 5}
        table = [
            # method, path, token, body → status
            ("POST", "/v1/take", None, take, 401),
            ("POST", "/v1/take", "wrong", take, 401),
            ("POST", "/v1/take", "the user's", take, 200),
            ("POST", "/v1/take", "the admin's", take, 200),
            ("GET", "/v1/check?limit=api&key=k", None, None, 401),
            ("GET", "/v1/check?limit=api&key=k", "the user's", None, 200),
            ("PUT", "/v1/limits/web", None, put, 401),
            ("PUT", "/v1/limits/web", "the user's", put, 403),
            ("PUT", "/v1/limits/web", "the admin's", put, 201),
            ("DELETE", "/v1/limits/web", "the user's", None, 403),
            ("DELETE", "/v1/limits/web", "the admin's", None, 204),
            ("GET", "/metrics", None, None, 401),
            ("GET", "/metrics", "the user's", None, 200),
            ("GET", "/healthz", None, None, 200),
            ("GET", "/readyz", None, None, 200),
            ("GET", "/openapi.json", None, None, 200),
        ]
        for method, path, token, body, status in table:
            with self.subTest(f"{method} {path} with {token}"):
                response = self.ask_http(method, path, token, body)
                self.assertEqual(response.status, status, response.body)
                if status == 401:
                    self.assertTrue(response.headers["WWW-Authenticate"].startswith("Bearer"))
        self.assertEqual(self.ask_http("POST", "/v1/take", "the user's", take, scheme="bearer").status, 200)
        self.assertEqual(self.ask_http("POST", "/v1/take", "the user's", take, scheme="Basic").status, 401)

    def test_wrong_ones_are_logged_and_counted(self):
        server = harness.Server(self, "--password", "the admin's")
        client = server.resp()
        client.ask("AUTH", "a guess")
        client.ask("HELLO", "3", "AUTH", "default", "a guess")
        web = server.http()
        for method, headers in (("GET", {"Authorization": "Bearer a guess"}), ("GET", {}),
                                ("DELETE", {"Authorization": "Bearer a guess"})):
            self.assertEqual(harness.ask_http(web, method, "/v1/limits/api", headers=headers).status, 401)
        address = ":".join(map(str, client.socket.getsockname()))
        self.assertEqual(server.wait_for_event("wrong password")["client"], address)
        self.assertEqual(server.wait_for_event("wrong password", 4)["level"], "warning")
        metrics = harness.ask_http(web, "GET", "/metrics", headers={"Authorization": "Bearer the admin's"}).body
        self.assertIn(b"\nmete_authentication_failures_total 4\n", metrics)
        self.assertNotIn("guess", server.log())

    def test_protocol_errors_are_logged(self):
        server = harness.Server(self)
        for client, data in ((server.raw_resp(), b"*-2\r\n"), (server.raw_http(), b"GET\r\n\r\n")):
            client.send(data)
            client.read_to_end()
        for count in (1, 2):
            event = server.wait_for_event("protocol error: connection closed", count)
            self.assertEqual(event["level"], "info")
            self.assertTrue(event["client"].startswith("127.0.0.1:") and event["reason"], event)

    def test_a_wrong_token_is_slow_too(self):
        started = time.monotonic()
        self.assertEqual(self.ask_http("GET", "/v1/limits", "wrong").status, 401)
        self.assertGreaterEqual(time.monotonic() - started, DELAY_MIN_S)

    def test_too_many_wrong_ones_are_not_looked_at_on_any_door(self):
        server = harness.Server(self, "--password", "p")
        clients = [server.resp(source="127.0.0.2") for _ in range(30)]
        for number, client in enumerate(clients):
            client.send(encode("AUTH", f"guess {number}"))
        answers = [client.reply() for client in clients]
        self.assertEqual({answer.code for answer in answers}, {"WRONGPASS"})
        not_looked_at = [answer for answer in answers if "not looked at" in answer]
        self.assertGreaterEqual(len(not_looked_at), 15)  # ten are looked at, and one more each second
        self.assertIn("not looked at", clients[0].ask("AUTH", "p"))
        web = http.client.HTTPConnection("127.0.0.1", server.http_port, harness.PATIENCE_S, ("127.0.0.2", 0))
        self.addCleanup(web.close)
        refused = harness.ask_http(web, "GET", "/v1/limits", headers={"Authorization": "Bearer p"})
        self.assertEqual(refused.status, 401)
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        # Others do not notice.
        self.assertEqual(server.resp(password="p").line("PING"), Simple("PONG"))
        self.assertEqual(server.wait_for_event("password not looked at: too many wrong ones")["level"], "warning")
        answer = harness.ask_http(server.http(), "GET", "/metrics", headers={"Authorization": "Bearer p"})
        self.assertRegex(answer.body.decode(), r"\nmete_authentication_not_looked_at_total [1-9]")

    def test_the_same_wrong_one_locks_nobody_out(self):
        server = harness.Server(self, "--password", "new")
        forgotten = [server.resp() for _ in range(30)]
        for client in forgotten:
            client.send(encode("AUTH", "old"))
        for client in forgotten:
            self.assertNotIn("not looked at", client.reply())
        self.assertEqual(server.resp(password="new").line("PING"), Simple("PONG"))

    def test_who_may_look(self):
        server = harness.Server(self, "--password", "p", "--use-password", "u", "--look-password", "l")
        server.resp(password="p").line("LIMIT SET api STOCK 100")
        looker = server.resp(password="l")
        self.assertEqual(looker.line("USAGE api k"), [0, 0, 100, 100, -1])
        self.assertEqual(looker.line("PEEK api k")[0], 1)
        for command in ("TAKE api k", "GIVE api k", "HOLD api k TTL 1m", "INCR n", "LIMIT DEL api", "SHUTDOWN",
                        "STORE TAKE 1"):
            with self.subTest(command):
                self.assertEqual(looker.line(command).code, "NOPERM")
        token = {"Authorization": "Bearer l"}
        for method, path, status in (("GET", "/v1/limits", 200), ("GET", "/metrics", 200), ("POST", "/v1/take", 403),
                                     ("GET", "/v1/check?limit=api&key=k", 403), ("DELETE", "/v1/limits/api", 403)):
            with self.subTest(f"{method} {path}"):
                self.assertEqual(harness.ask_http(server.http(), method, path, headers=token).status, status)

    def test_force_and_give_are_a_choice(self):
        server = harness.Server(self, "--password", "p", "--use-password", "u", "--use-without-force",
                                "--use-without-give")
        server.resp(password="p").line("LIMIT SET api STOCK 1")
        charges = {"charges": [{"limit": "api", "key": "k"}]}
        for password, is_allowed in (("u", False), ("p", True)):
            client = server.resp(password=password)
            for command in ("TAKE api k FORCE", "GIVE api k"):
                with self.subTest(f"{command} by {password}"):
                    self.assertEqual(isinstance(client.line(command), list), is_allowed)
            for path, body in (("/v1/take", charges | {"mode": "force"}), ("/v1/give", charges),
                               ("/v1/takes", [charges | {"mode": "force"}])):
                with self.subTest(f"{path} by {password}"):
                    answer = harness.ask_http(server.http(), "POST", path, body, {"Authorization": f"Bearer {password}"})
                    self.assertEqual(answer.status, 200 if is_allowed else 403)
        self.assertIsInstance(server.resp(password="u").line("TAKE api other"), list)

    def test_they_are_replaced_while_the_server_runs(self):
        folder = harness.Folder(self)
        path = folder.write("password", "old\n")
        config = folder.write("mete.toml", f"[server]\npassword_file = {json.dumps(path)}\n")
        server = harness.Server(self, config=config)
        first = server.resp(password="old")
        folder.write("password", "new\nold\n")
        server.signal(signal.SIGHUP)
        server.wait_for_event("passwords replaced")
        self.assertEqual(first.line("PING"), Simple("PONG"))
        second = server.resp(password="new")
        self.assertEqual(server.resp(password="old").line("PING"), Simple("PONG"))
        folder.write("password", "new\n")
        server.signal(signal.SIGHUP)
        self.assertEqual(server.wait_for_event("passwords replaced", 2)["connections_closed"], 2)
        self.assertEqual(first.read_to_end(), b"")
        self.assertEqual(second.line("PING"), Simple("PONG"))
        self.assertEqual(server.resp().ask("AUTH", "old").code, "WRONGPASS")

    def test_the_command_line_does_not_tell_them(self):
        server = harness.Server(self, "--password", "first secret", "--use-password=second secret")
        shown = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        self.assertNotIn(b"secret", shown)
        self.assertIn(b"--use-password=*", shown)
        self.assertIn(b"--http", shown)
        self.assertEqual(server.resp(password="second secret").line("PING"), Simple("PONG"))

    def test_files_that_everybody_can_read_are_warned_about(self):
        folder = harness.Folder(self)
        path = folder.write("password", "from a file\n")
        for mode, is_warned in ((0o644, True), (0o640, False)):
            Path(path).chmod(mode)
            server = harness.Server(self, "--password-file", path)
            server.resp(password="from a file").line("PING")
            self.assertEqual(server.stop(), 0)
            server.log_reader.join()
            self.assertEqual("everybody on this machine can read a secret" in server.log(), is_warned)

    def test_a_password_from_a_file(self):
        path = harness.Folder(self).write("password", "from a file\n")
        server = harness.Server(self, "--password-file", path)
        self.assertEqual(server.resp(password="from a file").line("PING"), Simple("PONG"))


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require("openssl", "redis-cli")
        cls.folder = harness.Folder(type("Once", (), {"addCleanup": staticmethod(cls.addClassCleanup)}))
        for authority, leaf in (("ca", "server"), ("client-ca", "client"), ("other-ca", "stranger")):
            cls.make_authority(authority)
            cls.make_certificate(authority, leaf)
        cls.files = ("--tls-cert", cls.folder / "server.pem", "--tls-key", cls.folder / "server.key")

    NEW_KEY = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
               "2", "-subj")

    @classmethod
    def make_authority(cls, name):
        harness.run(*cls.NEW_KEY, f"/CN={name}", "-keyout", cls.folder / f"{name}.key", "-out", cls.folder / f"{name}.pem")

    @classmethod
    def make_certificate(cls, authority, leaf):
        path = lambda name: cls.folder / name
        harness.run(*cls.NEW_KEY, f"/CN={leaf}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-addext", "basicConstraints=critical,CA:FALSE", "-CA", path(f"{authority}.pem"),
                    "-CAkey", path(f"{authority}.key"), "-keyout", path(f"{leaf}.key"), "-out", path(f"{leaf}.pem"))

    def context(self, leaf=None):
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        if leaf:
            context.load_cert_chain(self.folder / f"{leaf}.pem", self.folder / f"{leaf}.key")
        return context

    def redis_cli(self, server, *words, leaf=None, check=True):
        options = ["--tls", "--cacert", self.folder / "ca.pem"]
        if leaf:
            options += ["--cert", self.folder / f"{leaf}.pem", "--key", self.folder / f"{leaf}.key"]
        return harness.run("redis-cli", "-h", "localhost", "-p", str(server.resp_port), *options, *words, check=check)

    def ask_http(self, server, leaf=None):
        connection = http.client.HTTPSConnection("localhost", server.http_port, timeout=harness.PATIENCE_S,
                                                 context=self.context(leaf))
        try:
            return harness.ask_http(connection, "GET", "/healthz").status
        finally:
            connection.close()

    def test_resp_and_http(self):
        server = harness.Server(self, *self.files)
        self.assertEqual(self.redis_cli(server, "PING").stdout, "PONG\n")
        self.assertEqual(self.ask_http(server), 200)
        client = server.resp(tls=self.context())
        client.line("LIMIT SET api STOCK 100000")
        count = 20_000
        client.send(encode("TAKE", "api", "k") * count)
        self.assertEqual([client.reply()[1] for _ in range(count)], list(range(99_999, 99_999 - count, -1)))
        self.assertEqual(client.ask("ECHO", "x" * 60_000), b"x" * 60_000)
        self.assertEqual(server.stop(), 0)

    def test_a_certificate_alone_keeps_nobody_out(self):
        result = harness.run(harness.program, "serve", "--data", "", "--resp", "0.0.0.0:0", "--http", "off", *self.files,
                             check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("whoever reaches it could do everything", result.stderr)

    def server_files(self):
        """A folder of its own for the server's certificate, and the settings that name it."""
        files = {name: (self.folder.path / f"server.{name}").read_text() for name in ("pem", "key")}
        folder = harness.Folder(self)
        paths = {name: folder.write(f"server.{name}", text) for name, text in files.items()}
        return folder, f"[server]\ntls.cert = '{paths['pem']}'\ntls.key = '{paths['key']}'\n"

    def test_a_reload_that_is_refused_leaves_the_certificate(self):
        folder, settings = self.server_files()
        limits = "".join(f"[[limit]]\nname = 'l{number}'\nkind = 'stock'\namount = 10\n" for number in range(5))
        server = harness.Server(self, config=folder.write("mete.toml", settings + limits))
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        shown = server.resp(tls=context).socket.getpeercert(binary_form=True)
        self.make_certificate("ca", "renewed")
        for name in ("pem", "key"):
            folder.write(f"server.{name}", (self.folder.path / f"renewed.{name}").read_text())
        folder.write("mete.toml", settings)  # more limits would leave it than may at once
        server.wait_for_event("configuration not reloaded: nothing has changed")
        self.assertEqual(server.resp(tls=context).socket.getpeercert(binary_form=True), shown)

    def test_a_new_certificate_is_shown_after_a_reload(self):
        folder, settings = self.server_files()
        config = folder.write("mete.toml", settings)
        server = harness.Server(self, config=config)
        before = server.resp(tls=self.context())
        shown = before.socket.getpeercert(binary_form=True)
        self.make_certificate("ca", "renewed")
        for name in ("pem", "key"):
            folder.write(f"server.{name}", (self.folder.path / f"renewed.{name}").read_text())
        server.signal(signal.SIGHUP)
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")

        def is_new():
            with server.resp(tls=context) as client:
                return client.socket.getpeercert(binary_form=True) != shown

        harness.wait_until(is_new, "the new certificate")
        self.assertEqual(before.line("PING"), Simple("PONG"))

    def test_a_handshake_that_never_ends_is_closed(self):
        server = harness.Server(self, *self.files, "--authentication-timeout", "1s")
        for port in (server.resp_port, server.http_port):
            with harness.Socket(port) as client:
                client.send(b"\x16\x03\x01\x02\x00\x01")
                client.read_to_end()

    def test_unix_sockets_stay_plain_text(self):
        paths = {name: self.folder / f"{name}.sock" for name in ("resp", "http")}
        harness.Server(self, *self.files, "--resp", f"unix:{paths['resp']}", "--http", f"unix:{paths['http']}")
        for name, request, answer in (("resp", encode("PING"), b"+PONG\r\n"),
                                      ("http", b"GET /healthz HTTP/1.0\r\n\r\n", b"HTTP/1.0 200 OK\r\n")):
            with self.subTest(name), socket.socket(socket.AF_UNIX) as client:
                client.settimeout(harness.PATIENCE_S)
                client.connect(paths[name])
                client.sendall(request)
                self.assertEqual(client.recv(len(answer), socket.MSG_WAITALL), answer)
        shown = harness.run(harness.program, "limit", "list", "--server", f"unix:{paths['resp']}")
        self.assertEqual(shown.stderr, "")

    def test_old_versions_are_refused(self):
        server = harness.Server(self, *self.files)
        context = self.context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            server.resp(tls=context)

    def test_who_does_not_speak_it_is_closed(self):
        server = harness.Server(self, *self.files)
        for data in (encode("PING"), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 70_000, b"\x00"):
            for port in (server.resp_port, server.http_port):
                with harness.Socket(port) as client:
                    client.send_if_open(data)
                    client.end_sending()
                    self.assertNotIn(b"PONG", client.read_to_end())
        self.assertEqual(self.redis_cli(server, "PING").stdout, "PONG\n")

    def test_mutual(self):
        server = harness.Server(self, *self.files, "--tls-client-ca", self.folder / "client-ca.pem")
        self.assertEqual(self.redis_cli(server, "PING", leaf="client").stdout, "PONG\n")
        self.assertEqual(self.ask_http(server, "client"), 200)
        for leaf in (None, "stranger"):
            with self.subTest(leaf):
                self.assertNotIn("PONG", self.redis_cli(server, "PING", leaf=leaf, check=False).stdout)
                with self.assertRaises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                    self.ask_http(server, leaf)

    def test_files_that_are_wrong_end_the_start(self):
        for cert, key in (("server.pem", "client.key"), ("nobody.pem", "server.key"), ("server.key", "server.pem")):
            with self.subTest(cert=cert, key=key):
                result = harness.run(harness.program, "serve", "--data", "", "--resp", "127.0.0.1:0", "--http", "off",
                                     "--tls-cert", self.folder / cert, "--tls-key", self.folder / key, check=False)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(str(self.folder.path), result.stderr)

    def test_the_line_to_try_works_here_too(self):
        server = harness.Server(self, *self.files)
        line = re.search("^Try: (.*)$", server.banner, re.M)[1]
        self.assertIn("--tls", line)
        self.assertEqual(harness.run("sh", "-c", line).stdout.split()[:4], ["OK", "1", "9", "10"])


class Harm(unittest.TestCase):
    def test_a_log_that_nobody_reads_stops_nobody(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.write(writer, b"x" * fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ))  # It is full before the server starts.
        server = harness.Server(self, stderr=writer)
        os.close(writer)
        with server.raw_http() as client:
            client.send(b"\x01")  # a protocol error, which is logged
            client.read_to_end()
        self.assertEqual(server.ask("PING"), Simple("PONG"))
        self.assertEqual(server.stop(), 0)

    def test_keys_never_reach_the_log_as_they_are(self):
        evil = "k\r\n\x1b[2J\x00\x7f\u0085\u202e"
        server = harness.Server(self, "--log-level", "debug", "--slowlog-threshold", "1ms")
        client = server.resp()
        client.line("LIMIT SET api STOCK 10")
        for words in (["TAKE", "api", evil], ["TAKE", evil, evil], [evil], ["CLIENT", "SETNAME", evil],
                      ["LIMIT", "SET", evil, "STOCK", "1"], ["CONFIG", "SET", evil, evil], ["COMMIT", evil],
                      ["HOLD", "api", evil, "TTL", "1m", "TAG", evil], ["CLIENT", "SETINFO", "LIB-NAME", evil]):
            client.ask(*words)
        with server.raw_resp() as other:
            other.send(b"*1\r\n$" + evil.encode() + b"\r\n")
            other.read_to_end()
        folder = harness.Folder(self)
        config = folder.write("mete.toml", "")
        other = harness.Server(self, config=config)
        folder.write("mete.toml", f"[[limit]]\nname = {json.dumps(evil)}\nkind = 'stock'\namount = 1\n")
        other.wait_for_event("configuration not reloaded: nothing has changed")
        for one in (server, other):
            one.stop()
            one.log_reader.join()
            log = b"".join(one.log_lines)
            for line in log.splitlines():
                json.loads(line)
            self.assertNotRegex(log, rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2\x85|\xe2\x80\xae")

    def flood(self, server, command, count):
        """Sends without reading until the server stops taking it, or closes; the client and what it could send."""
        client = server.raw_resp()
        client.socket.settimeout(0.5)
        sent = 0
        data = memoryview(encode(*command) * 1000)
        try:
            for _ in range(count // 1000):
                position = 0
                while position < len(data):
                    position += client.socket.send(data[position:])
                sent += 1000
        except (TimeoutError, ConnectionError):
            pass
        return client, sent

    def test_a_client_that_never_reads_costs_no_more_than_its_buffer(self):
        server = harness.Server(self, "--output-buffer-max", "64kb", "--query-buffer-max", "64kb", "--bulk-max", "32kb")
        server.ask("LIMIT", "SET", "api", "STOCK", "1000000")
        before = server.resident_bytes()
        clients = [self.flood(server, ("ECHO", "x" * 1000), 100_000) for _ in range(10)]
        for client, sent in clients:
            self.assertLess(sent, 100_000)  # 100 MB of answers that nobody reads: the server did not take that.
        self.assertLess(server.resident_bytes() - before, 20 << 20)
        self.assertEqual(server.ask("TAKE", "api", "k")[0], 1)

    def test_ten_to_the_fifth_commands_never_read(self):
        server = harness.Server(self, "--output-buffer-max", "64kb")
        server.ask("LIMIT", "SET", "api", "STOCK", "1000000")
        before = server.resident_bytes()
        client, _ = self.flood(server, ("TAKE", "api", "k"), 100_000)
        self.assertLess(server.resident_bytes() - before, 20 << 20)
        self.assertEqual(server.ask("PEEK", "api", "k")[0], 1)
        # It may read on later, if it has not been cut off: then every answer is whole and in order.
        client.socket.settimeout(harness.PATIENCE_S)
        client.end_sending()
        answers = re.findall(rb"\*6\r\n:1\r\n:(\d+)\r\n", client.read_to_end())
        self.assertEqual([int(answer) for answer in answers], list(range(999_999, 999_999 - len(answers), -1)))

    def test_monitors_that_never_read_are_cut_off(self):
        server = harness.Server(self, "--output-buffer-max", "64kb")
        monitor = server.resp()
        monitor.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        monitor.line("MONITOR")
        client = server.resp()

        def is_cut_off():
            for _ in range(20):
                client.ask("ECHO", "x" * 60_000)
            return b"flags=O" not in client.line("CLIENT LIST")

        harness.wait_until(is_cut_off, "the monitor's end")

    def test_max_connections(self):
        server = harness.Server(self, "--max-connections", "5")
        clients = [server.resp() for _ in range(5)]
        for client in clients:
            self.assertEqual(client.line("PING"), Simple("PONG"))
        # HTTP has places of its own.
        self.assertEqual(harness.ask_http(server.http(), "GET", "/readyz").status, 200)
        # A few more are for who looks after the server, and not for who uses it.
        with server.resp() as sixth:
            self.assertIn(b"maxclients:5", sixth.line("INFO clients"))
            self.assertEqual(sixth.line("TAKE api k"), "ERR max number of clients reached")
            self.assertEqual(sixth.read_to_end(), b"")
        # Whoever is there and is not the admin makes room for the next.
        reserved = [server.raw_resp() for _ in range(16)]
        with server.resp() as next_one:
            self.assertIn(b"maxclients:5", next_one.line("INFO clients"))
        self.assertEqual(reserved[0].read_to_end(), b"")
        for client in [clients[0], *reserved]:
            client.close()

        def is_served():
            try:
                return server.ask("LIMIT", "LIST") == []
            except (EOFError, ConnectionError):
                return False

        harness.wait_until(is_served, "a place that is free again")

    def test_strangers_make_room_and_the_admin_gets_in(self):
        server = harness.Server(self, "--max-connections", "5", "--password", "p", "--use-password", "u")
        known = server.resp(password="u")
        silent = [server.raw_resp() for _ in range(20)]
        users = [server.resp(password="u") for _ in range(4)]
        self.assertEqual(known.line("PING"), Simple("PONG"))
        # All five have shown a password now: none of them goes, and the admin has a place all the same.
        with server.resp() as another:
            self.assertEqual(another.ask("AUTH", "u"), "ERR max number of clients reached")
            self.assertEqual(another.read_to_end(), b"")
        admins = [server.resp(password="p") for _ in range(16)]
        self.assertEqual(admins[0].line("LIMIT SET api STOCK 1"), Simple("OK"))
        self.assertEqual(server.raw_resp().read_to_end(), b"-ERR max number of clients reached\r\n")
        for each in silent:
            self.assertEqual(each.read_to_end(), b"")
        for each in users:
            self.assertEqual(each.line("PING"), Simple("PONG"))
        token = {"Authorization": "Bearer u"}
        webs = [server.http() for _ in range(5)]
        for web in webs:
            self.assertEqual(harness.ask_http(web, "GET", "/v1/limits", headers=token).status, 200)
        reserve = server.http()
        self.assertEqual(harness.ask_http(reserve, "GET", "/readyz").status, 200)
        for password, status in (("u", 503), ("p", 200)):
            answer = harness.ask_http(server.http(), "GET", "/v1/limits", headers={"Authorization": f"Bearer {password}"})
            self.assertEqual(answer.status, status)

    def test_who_shows_no_password_is_closed(self):
        server = harness.Server(self, "--password", "p", "--authentication-timeout", "1s")
        silent, busy, web = server.raw_resp(), server.resp(), server.raw_http()
        known = server.resp(password="p")
        self.assertEqual(busy.line("PING").code, "NOAUTH")
        for each in (silent, busy, web):
            self.assertEqual(each.read_to_end(), b"")
        self.assertEqual(known.line("PING"), Simple("PONG"))

    def test_idle_connections_are_closed(self):
        server = harness.Server(self, "--idle-timeout", "1s")
        idle, http_idle = server.resp(), server.raw_http()
        self.assertEqual(idle.line("PING"), Simple("PONG"))
        waiting = server.resp()
        waiting.line("LIMIT SET one STOCK 1")
        waiting.line("TAKE one k")
        waiting.send(encode(*"TAKE one k WAIT 3s".split()))  # Waiting is not idling.
        self.assertEqual(idle.read_to_end(), b"")
        self.assertEqual(http_idle.read_to_end(), b"")
        self.assertEqual(waiting.reply()[0], 0)


if __name__ == "__main__":
    harness.main()
