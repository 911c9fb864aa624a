#!/usr/bin/env python3
"""Starting and stopping: signals, systemd, and a system that runs out of descriptors or disk."""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import harness
from harness import Simple, encode

UNITS = Path(__file__).resolve().parents[2] / "packaging" / "systemd"


class Stopping(unittest.TestCase):
    def setUp(self):
        self.server = harness.Server(self, "--threads", "3")
        self.client = self.server.resp()
        self.client.line("LIMIT SET api STOCK 1000000")

    def test_signals_end_it_with_status_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                server = harness.Server(self)
                idle = [server.resp(), server.http()]
                idle[0].line("PING")
                harness.ask_http(idle[1], "GET", "/healthz")
                server.signal(number)
                self.assertEqual(server.process.wait(harness.PATIENCE_S), 0)
                self.assertEqual(idle[0].read_to_end(), b"")
                server.wait_for_event("stopped")

    def test_a_pipeline_in_flight_is_answered(self):
        batch = encode("TAKE", "api", "k") * 50_000
        sender = threading.Thread(target=self.client.send_if_open, args=[batch])
        sender.start()
        first = self.client.reply()  # The server is in the midst of it.
        self.server.signal(signal.SIGTERM)
        answers = [first]
        try:
            while True:
                answers.append(self.client.reply())
        except (EOFError, ConnectionError):
            pass
        sender.join()
        # Whatever was taken was answered, in order, and no answer is cut in two.
        self.assertEqual([answer[1] for answer in answers], list(range(999_999, 999_999 - len(answers), -1)))
        self.assertEqual(self.client.buffer, b"")
        self.assertEqual(self.server.process.wait(harness.PATIENCE_S), 0)

    def test_what_had_arrived_is_answered_in_full(self):
        self.server.signal(signal.SIGSTOP)  # Its input waits in the socket until it goes on, with the signal before it.
        self.client.send(encode("TAKE", "api", "k") * 1000)
        http = self.server.raw_http()
        http.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        self.server.signal(signal.SIGTERM)
        self.server.signal(signal.SIGCONT)
        self.assertEqual([self.client.reply()[1] for _ in range(1000)], list(range(999_999, 998_999, -1)))
        self.assertEqual(self.client.read_to_end(), b"")
        self.assertEqual(self.server.process.wait(harness.PATIENCE_S), 0)

    def test_a_waiting_take_is_answered(self):
        self.client.line("LIMIT SET one STOCK 1")
        self.client.line("TAKE one k")
        other = self.server.resp()
        wait = encode(*"TAKE one k WAIT 1h".split())
        other.send(wait + encode("PING") + wait + encode("PING"))
        harness.wait_until(lambda: b"blocked_clients:1" in self.client.line("INFO clients"))
        self.server.signal(signal.SIGTERM)
        for _ in range(2):  # and one that would have to wait after that
            self.assertEqual(other.reply(), [0, 0, 1, -1, -1, [b"one"]])
            self.assertEqual(other.reply(), Simple("PONG"))
        self.assertEqual(other.read_to_end(), b"")
        self.assertEqual(self.server.process.wait(harness.PATIENCE_S), 0)

    def test_no_new_connections(self):
        # A client that does not read its answers keeps the server from ending at once.
        slow = self.server.resp()
        batch = encode("ECHO", "x" * 60_000) * 200
        slow.send(batch)
        received = rb"total_net_input_bytes:(\d+)"
        harness.wait_until(lambda: int(re.search(received, self.client.line("INFO stats"))[1]) > len(batch))
        self.server.signal(signal.SIGTERM)
        self.server.wait_for_event("stopping")
        with self.assertRaises(ConnectionError):
            harness.wait_until(lambda: socket.create_connection(("127.0.0.1", self.server.resp_port)).close())
        for _ in range(200):
            self.assertEqual(len(slow.reply()), 60_000)
        self.assertEqual(self.server.process.wait(harness.PATIENCE_S), 0)

    def test_a_second_signal_does_no_harm(self):
        for _ in range(3):
            self.server.signal(signal.SIGTERM)
        self.assertEqual(self.server.process.wait(harness.PATIENCE_S), 0)

    def test_the_port_is_free_again(self):
        port = self.server.resp_port
        self.assertEqual(self.server.stop(), 0)
        again = harness.Server(self, "--resp", f"127.0.0.1:{port}", "--http", "off", "--data", "", listen=False)
        self.assertEqual(again.ask("PING"), Simple("PONG"))

    def test_a_port_in_use_is_an_error_that_says_so(self):
        result = harness.run(harness.program, "serve", "--resp", f"127.0.0.1:{self.server.resp_port}", "--http", "off",
                             "--data", "", check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"127.0.0.1:{self.server.resp_port}", result.stderr)
        self.assertIn("in use", result.stderr)


class Systemd(unittest.TestCase):
    def test_it_is_told_when_ready_and_when_stopping(self):
        folder = harness.Folder(self)
        for path in (folder / "notify", f"@mete-test-{os.getpid()}"):
            with self.subTest(path), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(path.replace("@", "\0"))
                manager.settimeout(harness.PATIENCE_S)
                server = harness.Server(self, environment={"NOTIFY_SOCKET": path})
                self.assertEqual(manager.recv(1000).split(b"\n")[0], b"READY=1")
                self.assertEqual(server.ask("PING"), Simple("PONG"))
                server.signal(signal.SIGTERM)
                self.assertEqual(manager.recv(1000).split(b"\n")[0], b"STOPPING=1")
                self.assertEqual(server.process.wait(harness.PATIENCE_S), 0)

    def activate(self, sockets, names):
        """Starts a server as systemd does: the sockets are descriptors 3 and up, LISTEN_PID is its own."""
        shim = ("import fcntl, os, sys\n"
                "given = [int(fd) for fd in sys.argv[1].split(',')]\n"
                "high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in given]\n"  # out of the way
                "for index, fd in enumerate(high): os.dup2(fd, 3 + index)\n"
                "os.closerange(3 + len(high), 200)\n"
                "os.environ['LISTEN_PID'] = str(os.getpid())\n"
                "os.execv(sys.argv[2], sys.argv[2:])\n")
        descriptors = [one.fileno() for one in sockets]
        return harness.Server(self, prefix=[sys.executable, "-c", shim, ",".join(map(str, descriptors))],
                              environment={"LISTEN_FDS": str(len(sockets)), "LISTEN_FDNAMES": names},
                              popen={"pass_fds": descriptors})

    def test_sockets_that_are_handed_over(self):
        with socket.create_server(("127.0.0.1", 0)) as resp, socket.create_server(("127.0.0.1", 0)) as http:
            for sockets, names in (([resp, http], "resp:http"), ([http, resp], "http:resp"), ([resp, http], "")):
                with self.subTest(names):
                    server = self.activate(sockets, names)
                    self.assertEqual(server.resp_port, resp.getsockname()[1])
                    self.assertEqual(server.http_port, http.getsockname()[1])
                    self.assertEqual(server.ask("PING"), Simple("PONG"))
                    self.assertEqual(harness.ask_http(server.http(), "GET", "/healthz").status, 200)
                    self.assertEqual(server.stop(), 0)

    def test_a_client_that_comes_first_is_served(self):
        with socket.create_server(("127.0.0.1", 0)) as resp:
            early = harness.Resp(resp.getsockname()[1])
            early.send(encode("PING"))
            self.activate([resp], "resp")
            self.assertEqual(early.reply(), Simple("PONG"))
            early.close()

    def test_a_unix_socket_that_is_handed_over_stays(self):
        """It is systemd's: removing it would cut off whoever comes while no server runs."""
        folder = harness.Folder(self)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(folder / "resp")
            listener.listen()
            server = self.activate([listener], "resp")
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(folder / "resp")
                client.sendall(b"PING\r\n")
                self.assertEqual(client.recv(100), b"+PONG\r\n")
            self.assertEqual(server.stop(), 0)
            self.assertTrue(os.path.exists(folder / "resp"))

    def test_sockets_of_another_process_are_left_alone(self):
        server = harness.Server(self, environment={"LISTEN_FDS": "2", "LISTEN_PID": "1"})
        self.assertEqual(server.ask("PING"), Simple("PONG"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_the_units_are_well_formed(self):
        folder = harness.Folder(self)
        units = []
        for name in ("mete.service", "mete.socket"):
            text = (UNITS / name).read_text().replace("ExecStart=mete", f"ExecStart={harness.program}")
            units.append(folder.write(name, text))
        result = harness.run("systemd-analyze", "verify", "--man=no", *units, check=False)
        ours = [line for line in result.stderr.splitlines() if "mete." in line]
        self.assertEqual((result.returncode, ours), (0, []), result.stderr)
        # 0 is no exposure, 100 is all; by its own words below 20 is "OK".
        harness.run("systemd-analyze", "security", "--offline=yes", "--threshold=20", units[0])

    def test_the_units_say_what_they_must(self):
        service = (UNITS / "mete.service").read_text().splitlines()
        for line in ("Type=notify", "DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=mete",
                     "SystemCallFilter=@system-service", "Restart=on-failure", "MemoryDenyWriteExecute=yes"):
            self.assertIn(line, service)
        self.assertIn("ListenStream=127.0.0.1:6380", (UNITS / "mete.socket").read_text().splitlines())


class Shortages(unittest.TestCase):
    def test_without_descriptors_it_goes_on_and_recovers(self):
        limit = 80

        def few_descriptors():
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        # Root may raise its limit, and the server does so for as many connections as it is told: few enough here.
        server = harness.Server(self, "--max-connections", "10000", popen={"preexec_fn": few_descriptors},
                                prefix=self.without_privileges())
        first = server.resp()
        self.assertEqual(first.line("PING"), Simple("PONG"))
        crowd = []
        for _ in range(3 * limit):
            try:
                crowd.append(socket.create_connection(("127.0.0.1", server.resp_port), timeout=harness.PATIENCE_S))
            except ConnectionError:
                pass
        server.wait_for_event("cannot accept connections")
        self.assertEqual(first.line("PING"), Simple("PONG"))
        for client in crowd:
            client.close()

        def is_served_again():
            try:
                return server.ask("PING") == "PONG"
            except (EOFError, ConnectionError):
                return False

        harness.wait_until(is_served_again, "service for new clients")
        self.assertEqual(server.stop(), 0)

    @staticmethod
    def without_privileges():
        """A prefix that takes the right to raise limits away from root."""
        if os.geteuid() != 0:
            return []
        harness.require("setpriv")
        return ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-all", "--"]

    def test_a_full_disk_for_logs(self):
        with open("/dev/full", "wb") as full:
            server = harness.Server(self, stderr=full)
        self.assertEqual(server.ask("PING"), Simple("PONG"))
        for _ in range(3):
            server.signal(signal.SIGHUP)
        self.assertEqual(server.ask("PING"), Simple("PONG"))
        self.assertEqual(server.stop(), 0)

    def test_a_log_that_nobody_reads_any_more(self):
        reader, writer = os.pipe()
        server = harness.Server(self, "--log-level", "debug", stderr=writer)
        os.close(reader)
        os.close(writer)
        with server.raw_resp() as client:
            client.send(b"*-2\r\n")
            client.read_to_end()
        self.assertEqual(server.ask("PING"), Simple("PONG"))
        self.assertEqual(server.stop(), 0)

    def test_clients_that_go_without_reading(self):
        """SIGPIPE and resets."""
        server = harness.Server(self)
        for _ in range(20):
            client = server.resp()
            client.send(encode("ECHO", "x" * 60_000) * 50)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
            client.close()
        self.assertEqual(server.ask("PING"), Simple("PONG"))
        harness.wait_until(lambda: server.ask("INFO", "clients").count(b"connected_clients:1\r\n"), "their end")


if __name__ == "__main__":
    harness.main()
