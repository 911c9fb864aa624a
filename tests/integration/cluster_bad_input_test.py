#!/usr/bin/env python3
"""What a cluster must refuse: nodes that are not what they say, shared servers that have forgotten, bytes on the link
between nodes that are not of its protocol, or not for this link (docs/formats/peer.md)."""

import contextlib
import shutil
import socket
import struct
import threading
import unittest

import harness
from cluster import STOCK, WINDOW, Cluster, Node

FRAME_BYTES_MAX = 1 << 20
HELLO, PROOF, STATE, PING = 1, 2, 3, 5


class Starts(unittest.TestCase):
    """Nodes that must not start."""

    def setUp(self):
        self.cluster = Cluster(self)
        (self.node,) = self.cluster.nodes("a")
        self.cluster.define([self.node], "stock", STOCK)

    def goes_on(self):
        self.assertEqual(self.node.line("TAKE stock k")[0], 1)

    def test_two_nodes_with_one_name(self):
        self.assertIn("another node 'a' (incarnation 1",
                      Node(self.cluster, "a", directory=self.cluster.folder / "other").refusal())
        self.assertEqual(self.cluster.starts("a"), 1)
        self.goes_on()

    def test_a_copy_of_a_directory_under_the_same_name_and_under_another(self):
        for name in ("a", "b"):
            copy = self.cluster.copy_directory(self.node, f"copy-for-{name}")
            self.assertIn("is running from this data directory or from a copy of it",
                          Node(self.cluster, name, directory=copy).refusal())
        self.goes_on()

    def test_a_copy_while_the_node_is_away_takes_its_place_and_the_node_may_not_come_back(self):
        """What a node has of a stock is in its directory: two would have it twice."""
        self.goes_on()
        self.node.kill()
        copy = Node(self.cluster, "a", directory=self.cluster.copy_directory(self.node, "copy")).start()
        admitted = 1 + copy.take_all("stock")
        self.assertIn("from a copy of this data directory", self.node.refusal())
        copy.kill()
        self.assertIn("from a copy of this data directory", self.node.refusal())
        self.assertEqual(admitted, 100)

    def test_a_copy_under_another_name_while_the_node_is_away(self):
        self.goes_on()
        self.node.kill()
        copy = Node(self.cluster, "b", directory=self.cluster.copy_directory(self.node, "copy")).start()
        copy.kill()
        self.assertIn("from a copy of this data directory", self.node.refusal())

    def test_a_directory_that_moves_is_no_copy(self):
        self.goes_on()
        self.node.kill()
        shutil.move(self.node.directory, self.cluster.folder / "moved")
        for name in ("a", "b", "a"):
            Node(self.cluster, name, directory=self.cluster.folder / "moved").start().kill()
        moved = Node(self.cluster, "a", directory=self.cluster.folder / "moved").start()
        self.assertEqual(1 + moved.take_all("stock"), 100)


class Wiped(unittest.TestCase):
    """The shared server has lost all it had."""

    def setUp(self):
        self.cluster = Cluster(self)
        self.nodes = self.cluster.nodes("a", "b")
        self.cluster.define(self.nodes, "api", WINDOW)
        self.cluster.define(self.nodes, "stock", STOCK)
        for limit in ("api", "stock"):
            self.assertEqual(self.nodes[0].ask("TAKE", limit, "k")[0], 1)

    def wipe(self):
        self.cluster.shared.stop()
        shutil.rmtree(self.cluster.shared.directory)
        self.cluster.shared.start()

    def test_nodes_that_run_notice_and_draw_nothing(self):
        self.wipe()
        for node in self.nodes:
            self.assertIn("remove the file 'node'", node.server.wait_for_event("no more shares are drawn")["reason"])
        fresh = Node(self.cluster, "fresh").start()  # begins a cluster of its own there
        for limit, rule in (("api", WINDOW), ("stock", STOCK)):
            self.cluster.define([fresh, *self.nodes], limit, rule)
            for node in self.nodes:
                _, error = node.take_until_error(limit)
                self.assertIn("remove the file 'node'", error)
            self.assertEqual(self.cluster.usage(limit), [0, 0, 100])

    def test_a_node_that_has_not_noticed_yet_defines_nothing_there(self):
        self.wipe()
        for node in self.nodes:
            for command in (f"LIMIT SET api {WINDOW}", "QUOTASET q 10 60"):
                answers = []
                harness.wait_until(lambda: answers.append(node.line(command)) or "connection refused" not in answers[-1],
                                   "that it is connected again")
                self.assertIn("remove the file 'node'", answers[-1])
        self.assertEqual(self.cluster.shared.line("LIMIT LIST"), [])

    def test_nodes_that_start_are_refused_until_they_are_told(self):
        for node in self.nodes:
            node.kill()
        self.wipe()
        self.assertIn("It was wiped, or escrow.shared leads to another one", self.nodes[0].refusal())
        self.assertIn("remove the file 'node'", self.nodes[0].refusal())


def frame(kind, body, version=1, magic=b"METP", zero=0, length=None):
    return struct.pack("<4sBBHI", magic, version, kind, zero, len(body) if length is None else length) + body


def text(data):
    assert len(data) < 128
    return bytes([len(data)]) + data


def hello(name=b"stranger", has_secret=True, nonce=bytes(32)):
    return frame(HELLO, bytes([has_secret]) + text(name) + b"\x01" + text(nonce))


class Tap:
    """Stands between two nodes, and keeps what the one that connects has sent, link by link."""

    def __init__(self, test, port):
        self.port = port
        self.links = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        test.addCleanup(self.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                self.links.append(bytearray())
                for source, sink, record in ((near, far, self.links[-1]), (far, near, bytearray())):
                    threading.Thread(target=self._pass_on, args=(source, sink, record), daemon=True).start()

    @staticmethod
    def _pass_on(source, sink, record):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                record += data
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # the other direction ends too
        source.close()


class Link(unittest.TestCase):
    """Bytes at the port where other nodes connect."""

    def setUp(self):
        self.cluster = Cluster(self)
        self.a, self.b = self.cluster.nodes("a", "b")

    def send(self, data):
        """The answer to these bytes, until the node closes; TimeoutError if it does not."""
        with harness.Socket(self.a.peer_port) as client:
            client.send_if_open(data)
            return client.read_to_end()

    def refused(self, data, reason):
        self.assertIn(reason.encode(), self.send(data))

    def goes_on(self):
        self.a.line("INCR hits")
        before = self.a.line("GET hits")
        harness.wait_until(lambda: self.b.line("GET hits") == before, "that a counter gets to the other node")

    def test_frames_that_cannot_be(self):
        other_protocol, out_of_turn = "not the protocol of peers", "a frame came before the link was open"
        cases = ((b"GET / HTTP/1.1\r\nHost: node\r\n\r\n", other_protocol),
                 (bytes(64), other_protocol),
                 (b"\xff" * 5000, other_protocol),
                 (frame(HELLO, b"", magic=b"METQ"), other_protocol),
                 (frame(HELLO, b"x", version=2), "the other node speaks version 2"),
                 (frame(99, b"x"), "a frame of unknown type 99"),
                 (frame(HELLO, b"x", zero=1), "unknown type"),
                 (frame(HELLO, b"", length=FRAME_BYTES_MAX + 1), "is too long"),
                 (frame(HELLO, b"", length=0xFFFFFFFF), "is too long"),
                 (frame(HELLO, b"\x01"), "the hello cannot be read"),
                 (frame(STATE, struct.pack("<Q", 1)), out_of_turn),
                 (frame(PING, struct.pack("<Q", 1)), out_of_turn),
                 (hello() + hello(), out_of_turn))
        for data, reason in cases:
            with self.subTest(data=data[:40]):
                self.refused(data, reason)
        self.a.server.wait_for_event("peer refused", 5)  # of so many in a moment not all are logged
        self.goes_on()

    def test_a_frame_that_stays_short(self):
        self.assertEqual(self.send(hello()[:-1]), b"")
        self.goes_on()

    def test_a_name_that_is_this_node_s_own(self):
        self.refused(hello(name=b"a"), "two nodes with one name")

    def test_who_has_no_secret_or_only_guesses(self):
        self.refused(hello(has_secret=False), "has a secret and the other has none")
        self.refused(hello() + frame(PROOF, bytes(32)), "the secret of node 'stranger' is another one")
        self.goes_on()

    def test_a_node_with_another_secret_is_told_so_and_so_are_the_others(self):
        stranger = Node(self.cluster, "c", secret="another secret, as long as that one").start()
        self.assertIn("is another one: give both the same", self.a.server.wait_for_event("peer refused")["reason"])
        self.assertIn("is another one: give both the same", stranger.server.wait_for_event("no link to a peer")["reason"])
        stranger.line("INCRBY hits 1000")
        self.goes_on()
        self.assertEqual(self.a.line("GET hits"), b"1")

    def test_what_was_heard_on_one_link_is_refused_on_another(self):
        tapped = Node(self.cluster, "c")
        tap = Tap(self, tapped.peer_port)
        tapped.flags += ("--escrow-advertise", tap.address)
        tapped.start()
        self.a.line("INCRBY hits 5")
        harness.wait_until(lambda: tapped.line("GET hits") == b"5", "the counter")
        heard = max((bytes(link) for link in tap.links), key=len)
        self.assertTrue(heard.startswith(b"METP\x01\x01"), heard[:20])
        with harness.Socket(tapped.peer_port) as client:
            client.send_if_open(heard)
            self.assertIn(b"is another one", client.read_to_end())
        self.assertEqual(tapped.line("GET hits"), b"5")
        self.a.line("INCR hits")
        harness.wait_until(lambda: tapped.line("GET hits") == b"6", "that the links go on")


if __name__ == "__main__":
    harness.main()
