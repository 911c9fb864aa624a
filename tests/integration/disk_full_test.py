#!/usr/bin/env python3
"""A disk that takes no more: nothing is acknowledged that is not on it, all else goes on, and a restart with space mends it."""

import os
import resource
import subprocess
import unittest

import harness
from harness import ask_http, encode

BATCH = 500
SMALL_BYTES = 4 << 20     # of the small file system, and of a file
RESERVED_BYTES = 1 << 20  # by which a segment is made longer at a time
MESSAGE = "the disk has failed: nothing that must reach it is acknowledged any more"


class FullDisk:
    """The tests; how the disk becomes full, and has space again, is for the classes below."""

    def set_space(self, server, is_scarce):
        raise NotImplementedError

    def start(self, *flags):
        return harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store",
                              f"embedded:{self.directory}", *flags, listen=False)

    def setUp(self):
        self.directory = self.make_directory()
        self.server = self.start()
        with self.server.resp() as client:
            for words in ("LIMIT SET stock STOCK 1000000000", "LIMIT SET fast BUCKET 1000 PER 1s DURABLE everysec",
                          "LIMIT SET open BUCKET 1 PER 1d BURST 1000 DURABLE everysec ONFAIL open",
                          "LIMIT SET never BUCKET 1 PER 1d BURST 1000 DURABLE never", "QUOTASET quota 100 3600"):
                self.assertEqual(client.line(words), "OK")
            self.assertEqual(client.line("HOLD stock held COST 7 TTL 1h ID h TAG night")[0], 1)
            self.assertEqual(client.line("INCR counter"), 1)

    def fill(self):
        """Takes until the disk is full; how many were acknowledged. The connection is closed behind the error."""
        acknowledged = 0
        batch = encode("TAKE", "stock", "k") * BATCH
        with self.server.resp() as client:
            while True:
                client.send(batch)
                for _ in range(BATCH):
                    reply = client.reply()
                    if isinstance(reply, harness.Failure):
                        self.assertEqual(reply.code, "UNAVAILABLE")
                        self.assertEqual(client.read_to_end(), b"")
                        return acknowledged
                    acknowledged += 1
                    self.assertEqual(reply[0], 1)

    def test_nothing_is_acknowledged_any_more_until_a_restart(self):
        self.set_space(self.server, is_scarce=True)
        acknowledged = self.fill()
        self.assertGreater(acknowledged, 0)
        self.assert_changes_are_refused()
        self.assert_reads_go_on()
        self.assert_it_is_told()
        self.assertEqual(self.server.log().count(MESSAGE), 1)
        self.server.kill()

        self.set_space(None, is_scarce=False)
        self.server = self.start()
        with self.server.resp() as client:
            used = client.line("USAGE stock k")[0]
            self.assertGreaterEqual(used, acknowledged)
            self.assertLessEqual(used, acknowledged + BATCH)  # what was in flight
            self.assertEqual(client.line("USAGE stock held")[:2], [0, 7])
            self.assertEqual(client.line("HOLDS TAG night"), [b"h"])
            self.assertEqual(client.line("COMMIT h")[0], 7)
            self.assertEqual(client.line("TAKE stock k")[0], 1)
        self.assertEqual(ask_http(self.server.http(), "GET", "/readyz").status, 200)

    def assert_changes_are_refused(self, also=("SAVE",)):
        with self.server.resp() as client:
            for words in ("TAKE stock k", "TAKE stock k ID x", "TAKE fast k", "GIVE stock k", "HOLD stock k TTL 1h", "COMMIT h",
                          "CANCEL h", "EXTEND h TTL 2h", "RECONCILE stock k 1", "LIMIT SET other STOCK 1", "LIMIT DEL fast",
                          "LIMIT OVERRIDE stock k 5", "INCR counter", "SET counter 9", "QUOTASET quota 5 60", "FLUSHALL",
                          *also):
                with self.subTest(words):
                    reply = client.line(words)
                    self.assertEqual(getattr(reply, "code", reply), "UNAVAILABLE")
            # These limits rather admit too much than too little, or need no disk.
            self.assertEqual(client.line("TAKE open k")[0], 1)
            self.assertEqual(client.line("TAKE never k")[0], 1)
        connection = self.server.http()
        charges = {"charges": [{"limit": "stock", "key": "k"}]}
        for method, path, body in (("POST", "/v1/take", charges), ("POST", "/v1/give", charges),
                                   ("POST", "/v1/holds", {**charges, "ttl": "1h"}),
                                   ("PUT", "/v1/limits/new", {"kind": "stock", "amount": 1})):
            with self.subTest(path):
                response = ask_http(connection, method, path, body)
                self.assertEqual((response.status, response.json["code"]), (503, "UNAVAILABLE"))

    def assert_reads_go_on(self):
        with self.server.resp() as client:
            self.assertEqual(client.line("USAGE stock held")[:2], [0, 7])
            self.assertEqual(client.line("PEEK stock k")[0], 1)
            self.assertEqual(client.line("HOLDS TAG night"), [b"h"])
            self.assertEqual(client.line("HOLD.GET h")[:2], [b"state", b"held"])
            self.assertEqual(client.line("LIMIT GET stock")[:2], [b"name", b"stock"])
            self.assertEqual(client.line("GET counter"), b"1")
            self.assertEqual(client.line("QUOTAGET quota"), [100, 3600, 100])
        self.assertEqual(ask_http(self.server.http(), "GET", "/v1/meters/stock/held").status, 200)

    def assert_it_is_told(self):
        connection = self.server.http()
        self.assertEqual(ask_http(connection, "GET", "/healthz").status, 503)  # nothing but a new start helps
        self.assertEqual(ask_http(connection, "GET", "/readyz").status, 503)
        self.assertIn(b"\nmete_store_failed 1\n", ask_http(connection, "GET", "/metrics").body)
        event = self.server.wait_for_event(MESSAGE)
        self.assertIn("segment-", event["reason"])
        self.assertIn("restart", event["remedy"])


class FileSizeLimit(FullDisk, unittest.TestCase):
    """A write beyond the limit of the process fails like one on a full disk; it needs no rights."""

    def make_directory(self):
        return harness.Folder(self) / "data"

    def set_space(self, server, is_scarce):
        if server:
            set_file_size_limit(server, SMALL_BYTES if is_scarce else resource.RLIM_INFINITY)

    def test_a_snapshot_that_does_not_fit_harms_nothing(self):
        with self.server.resp() as client:
            for first in range(0, 40_000, BATCH):
                client.send(b"".join(encode("TAKE", "stock", f"key-{number:016}") for number in range(first, first + BATCH)))
                self.assertTrue(all(client.reply()[0] == 1 for _ in range(BATCH)))
            set_file_size_limit(self.server, RESERVED_BYTES + (64 << 10))  # the next segment fits, the snapshot does not
            reply = client.line("SAVE")
            self.assertEqual(getattr(reply, "code", reply), "UNAVAILABLE")
            self.assertEqual(client.line("TAKE stock k")[0], 1)
            connection = self.server.http()
            self.assertEqual(ask_http(connection, "GET", "/readyz").status, 200)
            metrics = ask_http(connection, "GET", "/metrics").body
            self.assertIn(b"\nmete_snapshot_last_failed 1\n", metrics)
            self.assertIn(b"\nmete_store_failed 0\n", metrics)
            set_file_size_limit(self.server, resource.RLIM_INFINITY)
            self.assertEqual(client.line("SAVE"), "OK")
        self.server.kill()
        self.server = self.start()
        self.assertEqual(self.server.ask("USAGE", "stock", "k")[0], 1)
        self.assertEqual(self.server.ask("USAGE", "stock", "key-0000000000039999")[0], 1)


def set_file_size_limit(server, size):
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))


@unittest.skipUnless(os.geteuid() == 0, "only root may mount a small file system")
class SmallFileSystem(FullDisk, unittest.TestCase):
    def make_directory(self):
        folder = str(harness.Folder(self).path)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "mete-test", folder], capture_output=True,
                                 text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no small file system here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", folder], check=True)
        self.folder = folder
        return folder + "/data"

    def set_space(self, server, is_scarce):
        size = SMALL_BYTES if is_scarce else 16 * SMALL_BYTES
        subprocess.run(["mount", "-o", f"remount,size={size}", self.folder], check=True)

    def test_it_ends_when_there_is_room_again(self):
        """What failed in memory cannot be put right: whoever supervises it starts it again."""
        self.check_that_it_ends()

    def test_without_a_reserve_it_ends_by_what_can_be_written(self):
        """As where a quota is used up, which is not seen from how much is free."""
        self.assertEqual(self.server.stop(), 0)
        self.server = self.start("--disk-reserve", "0")
        self.check_that_it_ends()

    def check_that_it_ends(self):
        self.set_space(self.server, is_scarce=True)
        acknowledged = self.fill()
        self.server.wait_for_event(MESSAGE)
        self.assertIsNone(self.server.process.poll())
        self.set_space(self.server, is_scarce=False)
        self.server.wait_for_event("the disk has room again: ending, to be started again")
        self.assertNotEqual(self.server.process.wait(harness.PATIENCE_S), 0)
        self.server = self.start()
        self.assertGreaterEqual(self.server.ask("USAGE", "stock", "k")[0], acknowledged)

    def test_before_the_disk_is_full_changes_are_refused_and_taken_again_by_themselves(self):
        self.set_space(self.server, is_scarce=False)
        filler = os.path.join(self.folder, "filler")
        free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
        with open(filler, "wb") as file:  # of another program
            file.write(bytes(free - (12 << 20)))
        self.assertEqual(self.server.wait_for_event("the disk will soon be full")["level"], "warning")
        self.assertEqual(self.server.ask("TAKE", "stock", "k")[0], 1)
        with open(filler, "ab") as file:
            file.write(bytes(10 << 20))
        self.server.wait_for_event("the disk is nearly full: changes are refused")
        self.assert_changes_are_refused(also=())  # a snapshot makes room
        self.assert_reads_go_on()
        connection = self.server.http()
        self.assertEqual(ask_http(connection, "GET", "/healthz").status, 200)
        self.assertEqual(ask_http(connection, "GET", "/readyz").status, 503)
        metrics = ask_http(connection, "GET", "/metrics").body
        self.assertIn(b"\nmete_disk_refuses_changes 1\n", metrics)
        self.assertIn(b"\nmete_store_failed 0\n", metrics)
        os.remove(filler)
        self.server.wait_for_event("the disk has room again: changes are taken")
        self.assertEqual(self.server.ask("TAKE", "stock", "k")[1], 1_000_000_000 - 2)
        self.assertEqual(ask_http(connection, "GET", "/readyz").status, 200)
        self.server.kill()
        self.server = self.start()
        self.assertEqual(self.server.ask("USAGE", "stock", "k")[0], 2)


if __name__ == "__main__":
    harness.main()
