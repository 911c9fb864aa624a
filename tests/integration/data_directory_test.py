#!/usr/bin/env python3
"""A data directory belongs to one process at a time."""

import unittest

import harness


class Lock(unittest.TestCase):
    def setUp(self):
        self.directory = harness.Folder(self) / "data"
        self.flags = ("--resp", "127.0.0.1:0", "--http", "off", "--store", f"embedded:{self.directory}")

    def start(self):
        return harness.Server(self, *self.flags, listen=False)

    def test_a_second_process_is_refused(self):
        first = self.start()
        first.ask("LIMIT", "SET", "stock", "STOCK", 5)
        second = harness.run(harness.program, "serve", *self.flags, check=False)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(f"{self.directory} is in use by process {first.process.pid}", second.stderr)
        self.assertIn("stop it first, or use another directory", second.stderr)
        self.assertEqual(first.ask("TAKE", "stock", "k")[0], 1)

    def test_the_lock_goes_with_the_process(self):
        for end in (harness.Server.kill, harness.Server.stop):
            with self.subTest(end.__name__):
                server = self.start()
                server.ask("LIMIT", "SET", "stock", "STOCK", 5)
                taken = server.ask("TAKE", "stock", "k")
                end(server)
                next_one = self.start()
                self.assertEqual(next_one.ask("USAGE", "stock", "k")[2], taken[1])
                next_one.kill()


if __name__ == "__main__":
    harness.main()
