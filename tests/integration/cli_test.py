#!/usr/bin/env python3
"""The command line against a real server: what each subcommand prints, its JSON, its exit status, and its errors.

usage: cli_test.py PROGRAM [UNITTEST ARGUMENTS]
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import harness

PATIENCE_S = 30  # for what takes milliseconds on an idle machine
PROGRAM = ""

DONE, NO, ERROR = 0, 1, 2  # exit statuses


class Server:
    """`mete serve` in memory."""

    def __init__(self, *options):
        self.address = f"127.0.0.1:{harness.free_port()}"
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--resp", self.address, "--http", "off", "--data", "", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_until(self._answers, "the start of the server", PATIENCE_S)

    def _answers(self):
        assert self.process.poll() is None, "the server does not start"
        try:
            socket.create_connection(self.address.split(":"), PATIENCE_S).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class CliTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        for limit in self.object("limit", "list")["limits"]:
            self.says(f"deleted {limit['name']}\n", "limit", "del", limit["name"])

    def run_mete(self, *words, server=None, environment=None):
        base = {name: value for name, value in os.environ.items() if not name.startswith("METE_")}
        base["METE_SERVER"] = server or self.server.address
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE_S,
                              env={**base, **(environment or {})}, stdin=subprocess.DEVNULL)

    def expect(self, status, *words, **options):
        result = self.run_mete(*words, **options)
        self.assertEqual(result.returncode, status, f"{words}: {result.stdout}{result.stderr}")
        if status == ERROR:
            self.assertEqual(result.stdout, "", words)
            self.assertRegex(result.stderr, r"\Amete: [^\n]+\n(Try '[^\n]+'\.\n)?\Z", words)
        else:
            self.assertEqual(result.stderr, "", words)
        return result

    def says(self, text, *words, status=DONE, **options):
        self.assertEqual(self.expect(status, *words, **options).stdout, text, words)

    def matches(self, pattern, *words, status=DONE):
        self.assertRegex(self.expect(status, *words).stdout, r"\A" + pattern + r"\n\Z", words)

    def object(self, *words, status=DONE, **options):
        output = self.expect(status, *words, "--json", **options).stdout
        self.assertEqual(output.count("\n"), 1, output)
        return json.loads(output)

    def fails(self, message, *words, **options):
        self.assertIn(message, self.expect(ERROR, *words, **options).stderr, words)


class Limits(CliTest):
    def test_are_defined_and_listed(self):
        self.says("no limits yet: define one with: mete limit set api bucket 100 --per 1m\n", "limit", "list")
        self.says("name    api\nkind    bucket\namount  1,000\nperiod  1m\nburst   2,000\n",
                  "limit", "set", "api", "bucket", "1000", "--per", "60s", "--burst", "2000")
        links = {"name": "links", "kind": "calendar", "amount": 20, "period": "month", "zone": "Europe/Berlin",
                 "anchor": 15, "shadow": True, "durable": "never", "on_fail": "open", "scope": "shared"}
        self.assertEqual(links, self.object(
            "limit", "set", "links", "calendar", "20", "--per", "month", "--zone", "Europe/Berlin", "--anchor", "15",
            "--shadow", "--durable", "never", "--on-fail", "open", "--scope", "shared"))
        self.object("limit", "set", "storage", "stock", "5")
        self.assertEqual(links, self.object("limit", "get", "links"))
        self.says("NAME     KIND      AMOUNT  PER    OPTIONS\n"
                  "api      bucket     1,000  1m     burst 2,000\n"
                  "links    calendar      20  month  zone Europe/Berlin, anchor 15, shadow, durable never, on_fail open,"
                  " scope shared\n"
                  "storage  stock          5  -\n", "limit", "list")
        self.assertEqual(["api", "links", "storage"],
                         [limit["name"] for limit in self.object("limit", "list")["limits"]])

    def test_are_deleted(self):
        self.object("limit", "set", "api", "stock", "5")
        self.assertEqual({"deleted": True}, self.object("limit", "del", "api"))
        self.fails("no limit 'api': define it with: mete limit set api bucket 100 --per 1m, or see: mete limit list",
                   "limit", "del", "api")
        self.fails("no limit 'api'", "limit", "get", "api")

    def test_have_overrides(self):
        self.object("limit", "set", "api", "stock", "5")
        self.says("api: alice has 1,000 of its own\n", "limit", "override", "api", "alice", "1000")
        self.assertEqual(1000, self.object("usage", "api", "alice")["limit"])
        self.assertEqual({"amount": 7}, self.object("limit", "override", "api", "alice", "7"))
        self.says("api: alice has the limit's amount\n", "limit", "override", "api", "alice", "none")
        self.assertEqual(5, self.object("usage", "api", "alice")["limit"])
        self.assertEqual({"amount": None}, self.object("limit", "override", "api", "alice", "none"))

    def test_tell_what_is_wrong(self):
        self.fails("KIND must be bucket, window, sliding, calendar or stock, not 'buckets'",
                   "limit", "set", "api", "buckets", "5")
        self.fails("AMOUNT must be an integer", "limit", "set", "api", "bucket", "many")
        self.fails("period is missing: a bucket needs one", "limit", "set", "api", "bucket", "5")
        self.fails("amount must be 1 to", "limit", "set", "api", "stock", "0")
        self.fails("\"soon\" is not a duration", "limit", "set", "api", "bucket", "5", "--per", "soon")
        self.fails("burst: a stock takes none", "limit", "set", "api", "stock", "5", "--burst", "7")
        self.fails("AMOUNT must be an integer or none, not 'x'", "limit", "override", "api", "alice", "x")
        self.fails("no limit 'api'", "limit", "override", "api", "alice", "5")


class Decisions(CliTest):
    def setUp(self):
        super().setUp()
        self.object("limit", "set", "api", "bucket", "10", "--per", "1h")  # slow enough for any machine
        self.object("limit", "set", "storage", "stock", "1000")

    def test_take_is_allowed_or_denied(self):
        self.says("allowed  9 of 10 left, full again in 6 min\n", "take", "api", "alice")
        self.matches(r"denied by api: try again in (6 min|5 min \d+ s); 9 of 10 left", "take", "api", "alice", "--cost", "10",
                     status=NO)
        self.says("denied by api: 11 can never fit; 9 of 10 left\n", "take", "api", "alice", "--cost=11", status=NO)
        self.says("allowed  100 of 1,000 left\n", "take", "storage", "acme", "--cost", "900")
        self.says("denied by storage: no wait is enough, something must be given back; 100 of 1,000 left\n",
                  "take", "storage", "acme", "--cost", "900", status=NO)

    def test_take_in_json_has_the_names_of_the_http_api(self):
        self.assertEqual({"allowed": True, "remaining": 8, "limit": 10, "retry_after_ms": 0, "reset_after_ms": 720000,
                          "violated": []}, self.object("take", "api", "alice", "--cost", "2"))
        self.assertEqual({"allowed": False, "remaining": 8, "limit": 10, "retry_after_ms": -1, "violated": ["api"]},
                         {name: value for name, value in
                          self.object("take", "api", "alice", "--cost", "20", status=NO).items()
                          if name != "reset_after_ms"})
        self.assertEqual(8, self.object("take", "api", "alice", "--cost", "20", "--up-to")["taken"])

    def test_several_charges_are_all_or_nothing(self):
        self.says("allowed  8 of 10 left, full again in 12 min\n",
                  "take", "api", "a:b", "--cost", "2", "and", "storage", "acme", "--cost", "300")
        self.says("denied by api, storage: no wait is enough, something must be given back; 8 of 10 left\n",
                  "take", "api", "a:b", "--cost", "9", "and", "storage", "acme", "--cost", "701", status=NO)
        self.assertEqual(300, self.object("usage", "storage", "acme")["used"])

    def test_take_has_modes(self):
        self.says("took 10 of 20, 0 of 10 left, full again in 1 h\n", "take", "api", "alice", "--cost=20", "--up-to")
        self.matches("denied by api: .*", "take", "api", "alice", "--up-to", status=NO)
        self.matches("took 0 of 0, 0 of 10 left, .*", "take", "api", "alice", "--cost", "0", "--up-to")
        self.assertTrue(self.object("take", "api", "alice", "--cost", "0", "--up-to")["allowed"])
        self.matches("allowed  0 of 10 left, .*", "take", "api", "alice", "--cost", "5", "--force")
        self.fails("give one of them", "take", "api", "alice", "--force", "--up-to")
        self.matches("denied by api: .*", "take", "api", "alice", "--cost", "5", "--wait", "50ms", status=NO)

    def test_take_with_an_id_is_done_once(self):
        first = self.object("take", "storage", "acme", "--id", "op-1")
        self.assertEqual(first, self.object("take", "storage", "acme", "--id", "op-1"))
        self.fails("was used for an operation with other parameters", "take", "storage", "other", "--id", "op-1")

    def test_take_waits(self):
        self.object("limit", "set", "fast", "bucket", "1", "--per", "1s")
        self.object("take", "fast", "alice")
        self.says("allowed  0 of 1 left, full again in 1 s\n", "take", "fast", "alice", "--wait", "20s")

    def test_peek_changes_nothing(self):
        for _ in range(2):
            self.says("would be allowed  9 of 10 left, full again in 6 min\n", "peek", "api", "alice")
        self.says("would be denied by api: 11 can never fit; 10 of 10 left\n", "peek", "api", "alice", "--cost=11",
                  status=NO)
        self.assertTrue(self.object("peek", "api", "alice", "and", "storage", "acme")["allowed"])

    def test_give_returns_at_most_what_is_used(self):
        self.object("take", "storage", "acme", "--cost", "5")
        self.says("returned 2, 997 of 1,000 left\n", "give", "storage", "acme", "--cost", "2")
        self.assertEqual({"returned": 3, "remaining": 1000, "limit": 1000},
                         self.object("give", "storage", "acme", "--cost", "9", "--id", "back"))

    def test_usage_and_reconcile(self):
        self.object("take", "storage", "acme", "--cost", "5")
        self.object("hold", "storage", "acme", "--cost", "20", "--ttl", "1h")
        self.says("USED  HELD  LEFT  LIMIT  FULL AGAIN\n   5    20   975  1,000  never\n", "usage", "storage", "acme")
        self.assertEqual({"used": 5, "held": 20, "remaining": 975, "limit": 1000, "reset_after_ms": -1},
                         self.object("usage", "storage", "acme"))
        self.says("used 7, before 5\n", "reconcile", "storage", "acme", "7")
        self.assertEqual({"used_before": 7, "used_now": 8}, self.object("reconcile", "storage", "acme", "8"))

    def test_tell_what_is_wrong(self):
        self.fails("no limit 'nope': define it with: mete limit set nope bucket 100 --per 1m", "take", "nope", "alice")
        self.fails('no limit "\\x1b[2J"', "take", "\033[2J", "alice")
        self.fails("KEY is missing", "take", "api")
        self.fails("a further charge is written: and LIMIT KEY", "take", "api", "alice", "bob")
        self.fails("KEY is missing behind 'storage'", "take", "api", "alice", "and", "storage")
        self.fails("cost of 'api' must be 0 to", "take", "api", "alice", "--cost", "-1")
        self.fails("must be an integer, not 'x'", "take", "api", "alice", "--cost", "x")
        self.fails("is not a duration", "take", "api", "alice", "--wait", "soon")
        self.fails("id must not be empty", "take", "api", "alice", "--id", "")
        self.fails("USED must be an integer", "reconcile", "api", "alice", "x")
        self.fails("did you mean '--cost'?", "take", "api", "alice", "--cots", "1")


class Holds(CliTest):
    def setUp(self):
        super().setUp()
        self.object("limit", "set", "credits", "stock", "100")

    def test_hold_then_commit(self):
        self.says("held  90 of 100 left\nid    commit-1\n",
                  "hold", "credits", "alice", "--cost", "10", "--ttl", "30d", "--id", "commit-1", "--tag", "job 7")
        self.says("id       commit-1\nstate    held\nexpires  in 30 d\ntag      job 7\ncharges  credits alice 10\n",
                  "holds", "commit-1")
        self.says("committed 7, 93 of 100 left\n", "commit", "commit-1", "7")
        self.matches("id +commit-1\nstate +committed\nexpires +-\n(.|\n)*", "holds", "commit-1")
        self.says("committed 7, 93 of 100 left\n", "commit", "commit-1", "7")
        self.fails("hold 'commit-1' is committed already, with other amounts", "commit", "commit-1")
        self.fails("hold 'commit-1' is committed already", "cancel", "commit-1")

    def test_hold_in_json_has_the_names_of_the_http_api(self):
        held = self.object("hold", "credits", "alice", "--cost", "10", "--ttl", "1h")
        self.assertRegex(held.pop("id"), r"\A[0-9a-f]{32}\Z")
        self.assertEqual({"allowed": True, "remaining": 90, "limit": 100, "retry_after_ms": 0, "reset_after_ms": -1,
                          "violated": []}, held)
        denied = self.object("hold", "credits", "alice", "--cost", "91", "--ttl", "1h", status=NO)
        self.assertEqual((False, ["credits"]), (denied["allowed"], denied["violated"]))
        self.assertNotIn("id", denied)
        self.says("denied by credits: 101 can never fit; 90 of 100 left\n",
                  "hold", "credits", "alice", "--cost=101", "--ttl=1h", status=NO)

    def test_overage(self):
        self.object("hold", "credits", "alice", "--cost", "10", "--ttl", "1h", "--id", "overage-1")
        self.fails("commit less, or allow overage with --overage", "commit", "overage-1", "12")
        self.assertEqual({"committed": 12, "remaining": 88, "limit": 100},
                         self.object("commit", "overage-1", "12", "--overage"))

    def test_cancel_and_extend(self):
        self.object("hold", "credits", "alice", "--cost", "10", "--ttl", "1m", "--id", "cancel-1")
        self.says("expires in 2 h\n", "extend", "cancel-1", "--ttl", "2h")
        self.assertEqual({"expires_in_ms": 3600000}, self.object("extend", "cancel-1", "--ttl", "1h"))
        self.says("returned 10, 100 of 100 left\n", "cancel", "cancel-1")
        self.object("hold", "credits", "alice", "--ttl", "1ms", "--id", "expired-1")
        time.sleep(0.01)  # for the hold's time to pass
        self.fails("hold 'expired-1' has expired", "commit", "expired-1")

    def test_are_listed(self):
        self.says("no holds\n", "holds", "credits", "alice")
        self.object("hold", "credits", "alice", "--cost=3", "--ttl=30d", "--id", "list-1", "--tag", "x")
        self.object("hold", "credits", "alice", "--cost=4", "and", "credits", "b\033", "--ttl=30d", "--id", "list-2")
        table = self.expect(DONE, "holds", "credits", "alice").stdout.splitlines()
        self.assertEqual("ID      STATE  EXPIRES  TAG  CHARGES", table[0])
        self.assertEqual({"list-1  held   in 30 d  x    credits alice 3",
                          'list-2  held   in 30 d  -    credits alice 4, credits "b\\x1b" 1'}, set(table[1:]))
        self.assertEqual(1, len(self.object("holds", "credits", "alice", "--count", "1")["holds"]))
        [tagged] = self.object("holds", "--tag", "x")["holds"]
        self.assertEqual(tagged, {**self.object("holds", "list-1"), "expires_in_ms": tagged["expires_in_ms"]})
        self.assertEqual(("list-1", "held", "x", [{"limit": "credits", "key": "alice", "amount": 3}]),
                         (tagged["id"], tagged["state"], tagged["tag"], tagged["charges"]))

    def test_tell_what_is_wrong(self):
        self.fails("option '--ttl' is missing: --ttl DURATION", "hold", "credits", "alice")
        self.fails("option '--ttl' is missing: --ttl DURATION", "extend", "x")
        for words in (["commit", "nope"], ["cancel", "nope"], ["extend", "nope", "--ttl=1m"], ["holds", "nope"]):
            self.fails("no hold 'nope': it is unknown, or was forgotten; the open holds of a key are listed by: mete "
                       "holds LIMIT KEY", *words)
        self.fails("which holds? Give LIMIT KEY, --tag TEXT, or the ID of one", "holds")
        self.fails("--tag goes without LIMIT, KEY and ID", "holds", "x", "--tag", "y")
        self.fails("--count goes with LIMIT KEY", "holds", "x", "--count", "5")
        self.fails("COUNT must be from 1", "holds", "credits", "alice", "--count", "0")
        self.fails("AMOUNT must be an integer", "commit", "x", "all")


class Servers(CliTest):
    """Reaching one, or not."""

    def test_that_are_not_there(self):
        self.fails("connection refused; is the server running? start one with: mete serve", "usage", "a", "b",
                   server=f"127.0.0.1:{harness.free_port()}")
        self.fails("is no address", "usage", "a", "b", "--server", "non sense")
        self.fails("--server takes an address, not a URL", "usage", "a", "b", "--server", "redis://127.0.0.1:6380")
        self.fails("no such file; is the server running?", "usage", "a", "b", "--server", "unix:/nowhere/mete.sock")

    def test_that_want_a_password(self):
        server = Server("--password", "secret")
        try:
            self.fails("Give the password with --password or in METE_PASSWORD.", "limit", "list", server=server.address)
            self.fails("refused the password", "limit", "list", "--password", "wrong", server=server.address)
            for options in ({"environment": {"METE_PASSWORD": "secret"}}, {}):
                words = ["limit", "list"] if options else ["limit", "list", "--password", "secret"]
                self.assertEqual({"limits": []}, self.object(*words, server=server.address, **options))
        finally:
            server.stop()

    def test_that_want_the_admins_password_for_some(self):
        server = Server("--password", "all", "--use-password", "use")
        user, admin = ({"server": server.address, "environment": {"METE_PASSWORD": word}} for word in ("use", "all"))
        try:
            for words in ("limit set api stock 5", "limit del api", "limit override api a 3", "reconcile api a 1"):
                self.fails("; it goes into --password or METE_PASSWORD", *words.split(), **user)
            self.object("limit", "set", "api", "stock", "5", **admin)
            for words in ("take api a --wait 1s", "peek api a", "give api a", "usage api a", "hold api a --ttl 1m --id x",
                          "extend x --ttl 1m", "holds x", "holds api a", "holds --tag t", "commit x",
                          "hold api a --ttl 1m --id y", "cancel y", "limit get api", "limit list"):
                self.object(*words.split(), **user)
        finally:
            server.stop()

    def test_that_speak_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "1", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", key, "-out", cert], check=True, capture_output=True)
            server = Server("--tls-cert", cert, "--tls-key", key)
            try:
                self.assertEqual({"limits": []},
                                 self.object("limit", "list", "--tls", "--tls-ca", cert, server=server.address))
                self.fails("--tls-ca", "limit", "list", "--tls", server=server.address)
                self.fails("does the server want TLS?", "limit", "list", server=server.address)
                self.fails("option '--tls-ca': cannot use '/nope': No such file", "limit", "list", "--tls", "--tls-ca",
                           "/nope", server=server.address)
            finally:
                server.stop()
            server = Server("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", cert)
            try:
                self.fails("give one with --tls-cert and --tls-key", "limit", "list", "--tls", "--tls-ca", cert,
                           server=server.address)
            finally:
                server.stop()
        self.fails("does the server speak TLS on this port?", "limit", "list", "--tls")
        self.fails("option '--tls-ca' means nothing without --tls", "limit", "list", "--tls-ca", "x")

    def test_that_are_no_mete(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            process = subprocess.Popen([PROGRAM, "take", "api", "alice", "--server",
                                        "127.0.0.1:%d" % listener.getsockname()[1]],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"-ERR unknown command 'TAKE'\r\n")
                out, error = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((out, process.returncode), ("", ERROR))
        self.assertIn("is the server a Mete", error)


class Top(CliTest):
    """Each test has a server of its own: some end it."""

    def setUp(self):
        super().setUp()
        self.object("limit", "set", "api", "stock", "1000")
        self.object("hold", "api", "alice\033[2J", "--ttl", "1h", "--id", "top-1")

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def run(self, result=None):
        self.server = Server()
        try:
            return super().run(result)
        finally:
            self.server.stop()

    def test_prints_one_frame_without_a_terminal(self):
        for words in (["top"], ["top", "--once"]):
            text = self.expect(DONE, *words, "--interval", "100ms").stdout
            self.assertRegex(text, r"\Amete top  127\.0\.0\.1:\d+  up \d+ m?s  connections \d+  meters \d+  holds 1  memory "
                                   r"[\d.]+ MB\ndecisions \d+/s, denied 0/s\n(?:durable|memory only)[^\n]*\n\nLIMIT  DECISIONS/S  DENIED/S\napi ")
            self.assertRegex(text, r'\ntop-1 +api    "alice\\x1b\[2J"  ')
            self.assertNotIn("\033", text)

    def test_prints_an_object(self):
        frame = self.object("top", "--interval", "100ms")
        self.assertEqual({"server", "uptime_s", "connections", "meters", "holds", "memory_bytes", "decisions_per_s",
                          "denied_per_s", "durability", "limits", "keys", "oldest_holds"}, set(frame))
        self.assertEqual([{"limit": "api", "decisions_per_s": 0, "denied_per_s": 0}], frame["limits"])
        [hold] = frame["oldest_holds"]
        self.assertEqual(("top-1", "api", "alice\033[2J"), (hold["id"], hold["limit"], hold["key"]))

    def test_tells_what_is_wrong(self):
        self.fails("'--interval' must be 100ms to 1h", "top", "--interval", "10ms")
        self.fails("connection refused", "top", server=f"127.0.0.1:{harness.free_port()}")

    def start_in_terminal(self, rows=20, columns=80):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execv(PROGRAM, [PROGRAM, "top", "--server", self.server.address, "--interval", "100ms"])
        self.output = b""
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, is_enough):
        deadline = time.monotonic() + PATIENCE_S
        while not is_enough(self.output):
            self.assertGreater(deadline, time.monotonic(), self.output)
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.terminal, 65536)
                except OSError:  # the program has closed it
                    return

    def end_in_terminal(self):
        """The exit status; the terminal must be as it was."""
        self.read_until(lambda output: output.endswith(b"\033[?25h\033[?1049l"))
        _, status = os.waitpid(self.process, 0)
        echoes = termios.tcgetattr(self.terminal)[3] & termios.ECHO
        self.read_until(lambda output: b"\033[?1049l" in output)
        os.close(self.terminal)
        self.assertTrue(self.output.startswith(b"\033[?1049h\033[?25l"), self.output)
        self.assertTrue(echoes)
        return status

    @staticmethod
    def frames(output):
        return output.split(b"\033[H")[1:]

    def test_draws_frames_until_q(self):
        self.start_in_terminal()
        self.read_until(lambda output: b"decisions " in output and len(self.frames(output)) > 2)
        self.assertIn(b"measuring", self.frames(self.output)[0])
        os.write(self.terminal, b"xq")
        self.assertEqual(0, self.end_in_terminal())
        self.assertNotIn(b"alice\033", self.output)
        self.assertIn(b'"alice\\x1b[2J"', self.output)

    def test_adapts_to_the_size(self):
        self.start_in_terminal(rows=20, columns=80)
        self.read_until(lambda output: b"top-1" in output)
        self.resize(3, 30)
        small = re.compile(rb"\033\[Hmete top[^\n]*\n[^\n]*\n[^\n]*\033\[K\033\[J")
        self.read_until(small.search)
        for line in small.search(self.output)[0].split(b"\n"):
            text = re.sub(rb"\033\[\d*\w|\r", b"", line).decode()
            self.assertLessEqual(len(text), 30)
        os.write(self.terminal, b"q")
        self.assertEqual(0, self.end_in_terminal())

    def test_restores_the_terminal_on_signals(self):
        for ending in ("ctrl-c", signal.SIGTERM, signal.SIGHUP):
            self.start_in_terminal()
            self.read_until(lambda output: b"top-1" in output)
            if ending == "ctrl-c":
                os.write(self.terminal, b"\003")
                self.assertEqual(0, self.end_in_terminal())
            else:
                os.kill(self.process, ending)
                self.assertEqual(ending, os.WTERMSIG(self.end_in_terminal()))

    def test_restores_the_terminal_when_the_server_goes(self):
        self.start_in_terminal()
        self.read_until(lambda output: b"top-1" in output)
        self.server.stop()
        self.read_until(lambda output: b"lost the connection" in output)
        self.assertLess(self.output.index(b"\033[?1049l"), self.output.index(b"lost the connection"))
        _, status = os.waitpid(self.process, 0)
        self.assertEqual(ERROR, os.waitstatus_to_exitcode(status))
        os.close(self.terminal)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
