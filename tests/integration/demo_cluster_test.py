#!/usr/bin/env python3
"""`mete cluster`: the demonstration, as somebody at a terminal sees it."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import harness
from harness import Resp

LIMIT = 100  # of the demonstration, a minute
END = "Ctrl-C stops it all."


def children(process):
    """The processes that it has started."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_alive(process):
    return Path(f"/proc/{process}").exists()


def command_line(process):
    return Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")


class Demonstration:
    """A `mete cluster` that has said what to type; ended with the test, at the latest."""

    def __init__(self, test, *words, nodes=3, temporary=None, output=None):
        self.port = harness.free_ports(nodes)
        self.lines = []
        self.changed = threading.Condition()
        environment = {**os.environ, "TMPDIR": temporary or tempfile.gettempdir(), "METE_PASSWORD": "not for children"}
        self.process = subprocess.Popen(
            [harness.program, "cluster", "--nodes", str(nodes), "--port", str(self.port), *words],
            stdin=subprocess.DEVNULL, stdout=output or subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        test.addCleanup(self.kill)
        if output is None:
            self.reader = threading.Thread(target=self._read, daemon=True)
            self.reader.start()
            self.wait_for(END)
            self.children = children(self.process.pid)

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.decode().rstrip("\n"))
                self.changed.notify_all()

    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, part):
        with self.changed:
            is_there = self.changed.wait_for(lambda: part in self.text(), harness.PATIENCE_S * 2)
        if not is_there:
            raise AssertionError(f"{part!r} is not in:\n{self.text()}")

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(harness.PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.reader.join()
            self.process.stdout.close()


class DemonstrationOfACluster(unittest.TestCase):
    def setUp(self):
        harness.require("etcd", "redis-cli")
        self.folder = harness.Folder(self)

    def assert_all_gone(self, demonstration):
        harness.wait_until(lambda: not any(is_alive(child) for child in demonstration.children), "the end of all processes")
        self.assertEqual(os.listdir(self.folder.path), [])

    def try_out(self, how, store, *words):
        demonstration = Demonstration(self, *words, temporary=str(self.folder.path))
        self.assertIn(f"through {store}://127.0.0.1:", demonstration.text())
        self.assertEqual(len(demonstration.children), 4)
        self.assertEqual(len(os.listdir(self.folder.path)), 1)
        commands = re.findall(r"^  node-\d +(redis-cli .*)$", demonstration.text(), re.M)
        self.assertEqual(len(commands), 3)
        window = demonstration_window(demonstration.port)
        for command in commands:
            self.assertEqual(harness.run(*command.split()).stdout.split()[0], "1", command)
        allowed = 3
        for command in commands:
            program, *rest = command.split()
            replies = harness.run(program, "--json", "-r", "60", *rest, timeout=60).stdout.splitlines()
            allowed += sum(json.loads(reply)[0] for reply in replies)
        if demonstration_window(demonstration.port) == window:  # else there were two limits to use up
            self.assertLessEqual(allowed, LIMIT)
            self.assertGreater(allowed, LIMIT // 2)
        self.watch(demonstration)
        self.assertEqual(demonstration.stop(how), 0, demonstration.text())
        self.assert_all_gone(demonstration)
        self.assertTrue(demonstration.text().endswith(END), demonstration.text())

    def watch(self, demonstration):
        words = re.search(r"mete (top --server \S+)$", demonstration.text(), re.M)[1].split()

        def cluster():
            return json.loads(harness.run(harness.program, *words, "--json", "--interval", "100ms").stdout)["cluster"]

        self.assertEqual((cluster()["node"], cluster()["state"]), ("node-1", "ok"))
        harness.wait_until(lambda: [peer["name"] for peer in cluster()["peers"] if peer["linked"]] == ["node-2", "node-3"],
                           "a link to each other node")
        self.assertRegex(harness.run(harness.program, *words, "--once", "--interval", "100ms").stdout,
                         r"\nnode node-1 of 3  linked 2 of 2  shares \d+  held \d+  outstanding \d+  stranded 0  draws \d+/s  local ")

        limit = json.loads(harness.run(harness.program, "limit", "get", "demo", *words[1:], "--json").stdout)
        self.assertGreaterEqual(limit["outstanding"], 0, limit)  # as the node alone can know

    def test_over_etcd(self):
        self.try_out(signal.SIGINT, "etcd")

    def test_over_mete(self):
        self.try_out(signal.SIGTERM, "mete", "--shared", "mete")

    def test_over_a_store_that_runs(self):
        store = harness.Server(self)
        demonstration = Demonstration(self, "--shared", f"mete://127.0.0.1:{store.resp_port}?timeout=10s", nodes=2)
        self.assertEqual(len(demonstration.children), 2)
        with Resp(demonstration.port) as first, Resp(demonstration.port + 1) as second:
            for node in (first, second):
                self.assertEqual(node.line("TAKE demo alice")[0], 1)
        self.assertEqual(demonstration.stop(), 0)
        self.assertEqual(store.ask("USAGE", "demo", "alice")[0], 2, "what was held is given back")

    def test_a_process_that_ends_is_told_of_and_the_others_go_on(self):
        demonstration = Demonstration(self, "--shared", "mete", temporary=str(self.folder.path))
        second = next(child for child in demonstration.children if "node-2" in command_line(child))
        os.kill(second, signal.SIGKILL)
        demonstration.wait_for("mete: node-2 was killed by signal 9; its last lines:\n    {")
        for port in (demonstration.port, demonstration.port + 2):
            with Resp(port) as node:
                self.assertEqual(node.line("TAKE demo bob")[0], 1)
        self.assertEqual(demonstration.stop(), 0)
        self.assert_all_gone(demonstration)

    def test_a_node_without_the_shared_store_can_still_be_watched(self):
        demonstration = Demonstration(self, "--shared", "mete", temporary=str(self.folder.path))
        with Resp(demonstration.port) as node:
            self.assertEqual(node.line("TAKE demo bob")[0], 1)
        shared = next(child for child in demonstration.children if "--escrow-node" not in command_line(child))
        os.kill(shared, signal.SIGKILL)
        demonstration.wait_for("mete: shared was killed by signal 9")
        words = (harness.program, "top", "--server", f"127.0.0.1:{demonstration.port}", "--once", "--interval", "100ms")
        harness.wait_until(lambda: "\nSHARED STORE UNREACHABLE: " in harness.run(*words).stdout, "a node that says so")
        self.assertEqual(demonstration.stop(), 0)
        self.assert_all_gone(demonstration)

    def test_without_a_node_there_is_nothing_to_go_on_with(self):
        demonstration = Demonstration(self, "--shared", "mete", nodes=1, temporary=str(self.folder.path))
        node = next(child for child in demonstration.children if "node-1" in command_line(child))
        os.kill(node, signal.SIGKILL)
        self.assertEqual(demonstration.process.wait(harness.PATIENCE_S), 2)
        demonstration.wait_for("mete: no node is left")
        self.assert_all_gone(demonstration)

    def test_killed_it_takes_its_processes_along(self):
        demonstration = Demonstration(self, "--shared", "mete", nodes=1, temporary=str(self.folder.path))
        demonstration.stop(signal.SIGKILL)
        harness.wait_until(lambda: not any(is_alive(child) for child in demonstration.children), "the end of all processes")

    def test_a_directory_that_is_given_stays_and_can_be_used_again(self):
        for store in ("etcd", "mete"):
            data = self.folder / f"data-{store}"
            for used in (3, 5):
                demonstration = Demonstration(self, "--shared", store, "--data", data, nodes=2)
                with Resp(demonstration.port) as node:
                    self.assertEqual(node.line("LIMIT SET seats STOCK 10 SCOPE escrow"), "OK")
                    self.assertEqual(node.line(f"TAKE seats hall COST {3 if used == 3 else 2}")[0], 1)
                    harness.wait_until(lambda: node.line("USAGE seats hall")[0] == used, f"{used} used")
                self.assertEqual(demonstration.stop(), 0)
            self.assertLessEqual({"node-1", "node-1.log", "node-2", "shared", "shared.log"}, set(os.listdir(data)))

    def test_on_a_terminal_it_shows_how_the_nodes_are(self):
        terminal, output = pty.openpty()
        with open(terminal, "rb", buffering=0) as screen:
            demonstration = Demonstration(self, "--shared", "mete", nodes=2, output=output)
            os.close(output)
            seen = b""

            def is_seen():
                nonlocal seen
                if select.select([screen], [], [], 0.1)[0]:
                    seen += screen.read(4096)
                return b"node-1: ok, 1 of 1 linked, holds 0  |  node-2: ok, 1 of 1 linked, holds 0" in seen

            harness.wait_until(is_seen, "a line that tells how the nodes are")
            self.assertEqual(demonstration.stop(), 0)

    def refused(self, *words):
        result = harness.run(harness.program, "cluster", *words, check=False, environment={**os.environ, "TMPDIR": str(self.folder.path)})
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(os.listdir(self.folder.path), [])
        return result.stderr

    def test_what_cannot_be_is_refused(self):
        first = harness.free_ports(3)
        with socket.create_server(("127.0.0.1", first + 1)):
            message = self.refused("--port", str(first))
        self.assertIn(f"127.0.0.1:{first + 1}", message)
        self.assertIn("--port takes the first of 3 free ports in a row", message)
        self.assertIn("cannot connect to", self.refused("--port", str(first), "--shared", f"mete://127.0.0.1:{first}"))
        self.assertIn("cannot make the directory", self.refused("--data", "/dev/null/x"))
        self.assertIn("must be 1 to 16", self.refused("--nodes", "17"))
        self.assertIn("must be etcd, mete or the URL", self.refused("--shared", "nothing"))


def demonstration_window(port):
    """The minute, by the clock that counts: the shared store's, which is this machine's."""
    with Resp(port) as node:
        return int(node.ask("TIME")[0]) // 60


if __name__ == "__main__":
    harness.main()
