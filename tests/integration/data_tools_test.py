"""The tools for data directories, with real servers: backups under load, damage, and repairs."""

import json
import shutil
import subprocess
import threading
import unittest
from pathlib import Path

import harness


def mete(*words, check=True):
    return harness.run(harness.program, *words, check=check)


class Load:
    """A client that goes on taking and holding; it knows what was acknowledged."""

    def __init__(self, server):
        self.acknowledged = []
        self.has_grown = threading.Condition()
        self.is_stopping = False
        self.client = server.resp()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        number = 0
        while not self.is_stopping:
            number += 1
            # Stocks and holds are on disk before they are answered.
            assert self.client.ask("TAKE", "stock", f"key{number}", "COST", 2, "ID", f"take{number}")[0] == 1
            assert self.client.ask("HOLD", "stock", f"key{number}", "TTL", "1h", "ID", f"hold{number}")[0] == 1
            with self.has_grown:
                self.acknowledged.append(number)
                self.has_grown.notify_all()

    def wait_for(self, count):
        with self.has_grown:
            if not self.has_grown.wait_for(lambda: len(self.acknowledged) >= count, harness.PATIENCE_S):
                raise AssertionError(f"only {len(self.acknowledged)} of {count} were acknowledged")

    def stop(self):
        self.is_stopping = True
        self.thread.join(harness.PATIENCE_S)


class DataToolsTest(unittest.TestCase):
    def setUp(self):
        self.folder = harness.Folder(self)
        self.data = self.folder / "data"

    def start(self, directory=None):
        return harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-format", "json",
                              "--store", f"embedded:{directory or self.data}", listen=False)

    def fill(self):
        """A directory with a snapshot and a journal behind it; the server has ended."""
        server = self.start()
        server.ask("LIMIT", "SET", "stock", "STOCK", 1000)
        server.ask("TAKE", "stock", "before", "COST", 5)
        server.ask("SAVE")
        server.ask("TAKE", "stock", "first", "COST", 7)
        server.ask("HOLD", "stock", "second", "COST", 3, "TTL", "1h", "ID", "job")
        server.ask("TAKE", "stock", "third", "COST", 9)
        self.assertEqual(server.stop(), 0)

    def newest(self, prefix):
        return sorted(Path(self.data).glob(prefix + "-*"))[-1]

    def flip(self, file, word):
        """Damages the byte before a word in the file; returns its offset."""
        data = bytearray(file.read_bytes())
        offset = data.index(word) - 1
        data[offset] ^= 0xFF
        file.write_bytes(data)
        return offset

    def refused_start(self):
        result = subprocess.run([harness.program, "serve", "--resp", "127.0.0.1:0", "--http", "off", "--store",
                                 f"embedded:{self.data}"], capture_output=True, text=True, timeout=harness.PATIENCE_S)
        self.assertEqual(result.returncode, 2)
        return result.stderr

    def used(self, server, key):
        """(used, held) of a key of the stock."""
        fields = server.ask("USAGE", "stock", key)
        return fields[0], fields[1]

    # --- Backups ------------------------------------------------------------------------------------------------------

    def test_backup_under_load(self):
        server = self.start()
        server.ask("LIMIT", "SET", "stock", "STOCK", 1000)
        load = Load(server)
        copies = []
        for round in range(5):
            load.wait_for(50 * (round + 1))
            if round % 2:
                server.ask("BGSAVE")
            acknowledged = list(load.acknowledged)
            copy = self.folder / f"copy{round}"
            self.assertIn("as of", mete("backup", copy, "--data", self.data).stdout)
            copies.append((copy, acknowledged))
        load.stop()
        server.kill()
        for copy, acknowledged in copies:
            self.assertIn("all whole", mete("verify", copy).stdout)
        copy, acknowledged = copies[-1]
        restored = self.folder / "restored"
        mete("restore", copy, "--data", restored)
        server = self.start(restored)
        with server.resp() as client:
            for number in acknowledged:
                self.assertEqual(list(client.ask("USAGE", "stock", f"key{number}"))[:2], [2, 1], number)
                self.assertEqual(client.ask("COMMIT", f"hold{number}")[0], 1, number)

    def test_restore_wants_an_empty_directory_and_no_server(self):
        self.fill()
        mete("backup", self.folder / "copy", "--data", self.data)
        result = mete("restore", self.folder / "copy", "--data", self.data, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is not empty", result.stderr)
        self.start()
        result = mete("restore", self.folder / "copy", "--data", self.data, check=False)
        self.assertIn("is in use by process", result.stderr)

    # --- Looking ------------------------------------------------------------------------------------------------------

    def test_inspect_and_verify_a_server_at_work(self):
        server = self.start()
        server.ask("LIMIT", "SET", "stock", "STOCK", 1000)
        load = Load(server)
        for round in range(5):
            load.wait_for(20 * (round + 1))
            count = len(load.acknowledged)
            self.assertIn("all whole", mete("verify", self.data).stdout)
            summary = json.loads(mete("inspect", self.data, "--json").stdout)
            self.assertGreaterEqual(summary["open_holds"], count)
            self.assertGreaterEqual(summary["limits"][0]["used"], 2 * count)
            if round == 2:
                server.ask("SAVE")
        lines = [json.loads(line) for line in mete("inspect", self.data, "--records", "--json").stdout.splitlines()]
        self.assertGreater(sum(line["change"] == "operation" for line in lines), 100)
        load.stop()

    # --- Damage -------------------------------------------------------------------------------------------------------

    def test_a_flipped_byte_in_the_journal(self):
        self.fill()
        segment = self.newest("segment")
        self.flip(segment, b"second")
        message = self.refused_start()
        self.assertRegex(message, rf"{segment.name} is damaged at byte [0-9]+: ")
        self.assertIn(f"mete repair {self.data}", message)
        result = mete("verify", self.data, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{segment.name}, byte ", result.stdout)
        result = mete("inspect", self.data, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is damaged at byte", result.stderr)
        # Without a terminal nobody can be asked.
        result = mete("repair", self.data, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--yes", result.stderr)
        damaged = segment.read_bytes()
        self.assertIn("is repaired", mete("repair", self.data, "--yes").stdout)
        kept = list(Path(self.data).glob("damaged-*/" + segment.name))
        self.assertEqual([file.read_bytes() for file in kept], [damaged])
        self.assertIn("nothing to repair", mete("repair", self.data).stdout)
        server = self.start()
        self.assertEqual(self.used(server, "before"), (5, 0))
        self.assertEqual(self.used(server, "first"), (7, 0))
        self.assertEqual(self.used(server, "second"), (0, 0))  # what was lost
        self.assertEqual(self.used(server, "third"), (9, 0))

    def test_a_flipped_byte_in_the_snapshot(self):
        self.fill()
        snapshot = self.newest("snapshot")
        self.flip(snapshot, b"before")
        self.assertRegex(self.refused_start(), rf"{snapshot.name} is damaged at byte [0-9]+: .*mete repair")
        result = mete("repair", self.data, "--dry-run", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"damaged: {snapshot.name}, byte ", result.stdout)
        self.assertIn("whose limit is lost", result.stdout)
        mete("repair", self.data, "--yes")
        self.start()

    def test_a_journal_that_is_shorter_than_what_was_synced(self):
        self.fill()
        segment = self.newest("segment")
        data = segment.read_bytes()
        segment.write_bytes(data[:data.index(b"third")])
        self.assertIn("the file ends within a record", self.refused_start())
        self.assertIn("this was synced, and is not there", mete("verify", self.data, check=False).stdout)
        mete("repair", self.data, "--yes")
        server = self.start()
        self.assertEqual(self.used(server, "second"), (0, 3))
        self.assertEqual(server.ask("COMMIT", "job")[0], 3)

    def test_a_missing_file(self):
        for name in ["snapshot", "segment"]:
            with self.subTest(name):
                self.fill()
                self.newest(name).unlink()
                self.assertIn("the file is missing", self.refused_start())
                mete("repair", self.data, "--yes")
                self.start().kill()
                shutil.rmtree(self.data)

    # --- What a start says --------------------------------------------------------------------------------------------

    def test_a_start_says_what_it_has_recovered(self):
        self.fill()
        segment = self.newest("segment")
        # Behind the last record there may be zeros, which were reserved.
        files = json.loads(mete("inspect", self.data, "--json").stdout)["files"]
        length = next(file["bytes"] for file in files if file["name"] == segment.name)
        segment.write_bytes(segment.read_bytes()[:length] + b"\x01\x02half of a record")
        server = self.start()
        recovered = server.wait_for_event("recovered")
        self.assertGreater(recovered["snapshot_bytes"], 0)
        self.assertEqual(recovered["journal_records"], 3)
        cut = server.wait_for_event("the end of the journal was cut off: it was never acknowledged")
        self.assertEqual((cut["file"], cut["offset"]), (segment.name, length))


if __name__ == "__main__":
    harness.main()
