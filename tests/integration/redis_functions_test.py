#!/usr/bin/env python3
"""The function library in Redis, beside a Mete server on the same Redis: what one key is answered by FCALL, another is answered by the server
after the same operations; and what one of them has done the other goes on from."""

import itertools
import os
import random
import unittest
from pathlib import Path

import harness
import node_modules
import redis_server

PAGE = Path(__file__).resolve().parents[2] / "docs/redis.md"

LIMITS = {"bucket": "BUCKET 10 PER 365d BURST 20", "odd": "BUCKET 7 PER 365d", "window": "WINDOW 10 PER 365d",
          "sliding": "SLIDING 10 PER 1h", "large": "SLIDING 100000 PER 1h", "stock": "STOCK 10",
          "shadow": "WINDOW 3 PER 365d SHADOW"}
STEPS = 300
# Sets a meter's first expiry, and that of a hold, to 10^17 microseconds.
FAR_AWAY = """
  redis.call('SET', KEYS[1], (string.gsub(redis.call('GET', KEYS[1]), '%+%d+$', '+100000000000000000')))
  local part = redis.call('HGET', KEYS[2], ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], (string.gsub(part, '^(%d+:%d+:)%d+', '%1100000000000000000')))
  local record = cmsgpack.unpack(redis.call('GET', KEYS[3]))
  record.hold.expires = 1e17
  redis.call('SET', KEYS[3], cmsgpack.pack(record))
"""
SLACK_MS = 60_000  # between the two askings; a busy machine may take long


def block_of(words):
    """The first indented block of docs/redis.md behind a line with these words, below its table of functions."""
    lines = iter(PAGE.read_text(encoding="utf-8").split("## Functions")[1].splitlines())
    next(line for line in lines if words in line)
    block = itertools.takewhile(lambda line: line.startswith("    "), itertools.dropwhile(lambda line: not line.startswith("    "), lines))
    return [line.removeprefix("    ") for line in block]


class RedisFunctions(unittest.TestCase):
    def setUp(self):
        self.redis = redis_server.Redis(self)
        self.server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "off", "--store", self.redis.url(), listen=False)
        harness.wait_until(lambda: self.server.ask("PING") == "PONG", "that the server is ready")
        self.resp = self.server.resp()
        for name, definition in LIMITS.items():
            self.assertEqual(self.resp.line(f"LIMIT SET {name} {definition}"), "OK")

    def migrate(self, *words, check=True):
        return harness.run(harness.program, "migrate", self.redis.url(), *words, check=check)

    def call(self, name, keys, *words):
        return self.redis.client.ask("FCALL", f"mete_{name}", len(keys), *keys, *words)

    def assert_alike(self, told, expected, times, what):
        """`times`: the places of milliseconds, which may have gone on a little."""
        if isinstance(expected, harness.Failure) or isinstance(told, harness.Failure):
            self.assertEqual(getattr(told, "code", told), getattr(expected, "code", expected), what)
            return
        for place in times:
            if min(told[place], expected[place]) <= 0:
                self.assertEqual(told[place] <= 0, expected[place] <= 0, what)
            self.assertLess(abs(told[place] - expected[place]), SLACK_MS, what)
        without = [[element for place, element in enumerate(answer) if place not in times] for answer in (told, expected)]
        self.assertEqual(without[0], without[1], what)

    def test_it_is_installed_checked_and_upgraded(self):
        self.assertEqual(self.migrate("--to", "0").stdout, "the function library mete is not installed\n")
        self.assertEqual(self.migrate().stdout, "the function library mete is at version 3\n")
        self.assertEqual(self.migrate().stdout, "the function library mete is at version 3 already\n")
        code = self.redis.client.ask("FUNCTION", "LIST", "LIBRARYNAME", "mete", "WITHCODE")[0]
        code = code[code.index(b"library_code") + 1].decode()
        self.redis.client.ask("FUNCTION", "LOAD", "REPLACE", code + "\n-- changed")
        self.assertIn("it had been changed", self.migrate().stdout)
        self.redis.client.ask("FUNCTION", "LOAD", "REPLACE", code.replace("-- version 3\n", "-- version 4\n"))
        self.assertNotEqual(self.migrate(check=False).returncode, 0)
        self.redis.client.ask("FUNCTION", "LOAD", "REPLACE", code.replace("-- version 3\n", "-- version 2\n"))
        self.assertIn("is at version 3, and was at version 2", self.migrate().stdout)
        self.assertEqual(self.migrate("--to", "0").stdout, "the function library mete is gone\n")
        self.assertEqual(self.call("take", ["k"], "stock", 1).code, "ERR")

    def test_the_answers_are_those_of_a_server(self):
        self.migrate()
        chance = random.Random(11)
        for limit in LIMITS:
            ids = []
            for step in range(STEPS):
                cost, id = chance.choice((1, 1, 2, 3, 5, 25)), f"{limit}-{step}"
                what = chance.choice(("take", "take", "take", "id", "force", "upto", "peek", "give", "usage", "hold", "commit",
                                      "commit", "cancel", "extend"))
                held = chance.choice(ids) if ids else "nobody"
                with self.subTest(limit=limit, step=step, what=what, cost=cost):
                    if what in ("take", "force", "upto"):
                        option = [] if what == "take" else [what.upper()]
                        self.assert_alike(self.call("take", ["f"], limit, cost, *option),
                                          self.resp.ask("TAKE", limit, "s", "COST", cost, *option), (3, 4), what)
                    elif what == "id":
                        for _ in range(2):
                            self.assert_alike(self.call("take", ["f"], limit, cost, "ID", f"f-{id}"),
                                              self.resp.ask("TAKE", limit, "s", "COST", cost, "ID", f"s-{id}"), (3, 4), what)
                    elif what == "peek":
                        self.assert_alike(self.call("peek", ["f"], limit, cost),
                                          self.resp.ask("PEEK", limit, "s", "COST", cost), (3, 4), what)
                    elif what == "give":
                        self.assert_alike(self.call("give", ["f"], limit, cost),
                                          self.resp.ask("GIVE", limit, "s", "COST", cost), (), what)
                    elif what == "usage":
                        self.assert_alike(self.call("usage", ["f"], limit), self.resp.ask("USAGE", limit, "s"), (4,), what)
                    elif what == "hold":
                        ids.append(id)
                        tags = ["TAG", "job"] if chance.random() < 0.5 else []
                        told = self.call("hold", ["f"], limit, cost, "TTL", 3_600_000, "ID", f"f-{id}", *tags)
                        expected = self.resp.ask("HOLD", limit, "s", "COST", cost, "TTL", "1h", "ID", f"s-{id}", *tags)
                        self.assertEqual((told.pop(1), expected.pop(1)), (f"f-{id}".encode(), f"s-{id}".encode()))
                        self.assert_alike(told, expected, (3, 4), what)
                    elif what == "commit":
                        amounts = [] if chance.random() < 0.5 else [chance.choice((0, 1, 2))]
                        self.assert_alike(self.call("commit", [f"f-{held}"], *amounts),
                                          self.resp.ask("COMMIT", f"s-{held}", *amounts), (), what)
                    elif what == "cancel":
                        self.assert_alike(self.call("cancel", [f"f-{held}"]), self.resp.ask("CANCEL", f"s-{held}"), (), what)
                    else:
                        told, expected = self.call("extend", [f"f-{held}"], 7_200_000), self.resp.ask("EXTEND", f"s-{held}", "TTL", "2h")
                        self.assertEqual(getattr(told, "code", told), getattr(expected, "code", expected))

    def test_each_goes_on_from_what_the_other_has_done(self):
        self.migrate()
        self.assertEqual(self.call("take", ["k"], "stock", 4)[:3], [1, 6, 10])
        self.assertEqual(self.resp.ask("HOLD", "stock", "k", "COST", "3", "TTL", "1h", "ID", "one")[:3], [1, b"one", 3])
        self.assertEqual(self.call("commit", ["one"], 2), [2, 4, 10])
        self.assertEqual(self.resp.ask("COMMIT", "one", "2"), [2, 4, 10], "the same answer again, on the other door")
        self.assertEqual(self.call("hold", ["k"], "stock", 4, "TTL", 60_000, "ID", "two")[:3], [1, b"two", 0])
        self.assertEqual(self.resp.ask("CANCEL", "two"), [4, 4, 10])
        self.assertEqual(self.call("usage", ["k"], "stock"), [6, 0, 4, 10, -1])

    def test_the_page_shows_what_works(self):
        """docs/redis.md: its lines for a shell, ioredis and redis-py."""
        self.migrate()
        self.resp.line("LIMIT SET api WINDOW 100 PER 365d")
        self.resp.line("LIMIT SET credits STOCK 100")
        shell, typescript, python = (block_of(words) for words in ("commands.md", "In TypeScript", "In Python"))
        command, *answer = shell
        printed = harness.run("redis-cli", "-p", str(self.redis.port), "--no-raw", *command.split()[2:]).stdout.splitlines()
        self.assertEqual(command.split()[:2], ["$", "redis-cli"])
        self.assertEqual(printed[:2], answer[:2])
        environment = {**os.environ, "NODE_PATH": str(node_modules.install())}
        without_types = "\n".join(typescript).replace(" as number[]", "")
        self.assertNotIn(" as ", without_types)
        program = ("class TooMany extends Error {}\n"
                   f"const redis = new (require('ioredis'))({self.redis.port});\n"
                   f"(async () => {{\n{without_types}\nconsole.log(allowed, remaining, retryAfterMs);\nredis.quit(); }})();")
        self.assertEqual(harness.run("node", "-e", program, environment=environment).stdout, "1 98 0\n")
        program = (f"import redis\nr = redis.Redis(port={self.redis.port})\n" + "\n".join(python) +
                   "\nprint(allowed, remaining, limit, retry_after_ms, held[:3])")
        self.assertEqual(harness.run("/usr/bin/python3", "-c", program).stdout, "1 97 100 0 [1, b'job-7', 95]\n")
        self.assertEqual(self.resp.ask("USAGE", "credits", "alice")[:2], [3, 0])

    def test_it_goes_on_after_a_flush(self):
        """The library stays, and the limits are defined again: by the file that has them, or by hand."""
        self.migrate()
        for command in ("FLUSHALL", "FLUSHDB"):
            with self.subTest(command=command):
                self.redis.client.line(command)
                self.assertIsInstance(self.call("take", ["k"], "stock", 1), harness.Failure)
                self.assertEqual(self.resp.line("LIMIT SET stock STOCK 10"), "OK")
                self.assertEqual(self.call("usage", ["k"], "stock"), [0, 0, 10, 10, -1])

    def test_several_keys_fit_all_or_none(self):
        self.migrate()
        self.assertEqual(self.call("take", ["a", "b"], "stock", 3, "window", 10)[:3], [1, 0, 10])
        denied = self.call("take", ["a", "b"], "stock", 3, "window", 1)
        self.assertEqual((denied[0], denied[5]), (0, [b"window"]))
        self.assertEqual(self.call("usage", ["a"], "stock")[0], 3)

    def test_bad_input_is_refused(self):
        self.migrate()
        self.resp.line("LIMIT SET month CALENDAR 10 PER MONTH")
        for name, keys, words, code in (("take", ["k"], ["nobody", 1], "NOLIMIT"), ("take", ["k"], ["stock", -1], "ERR"),
                                        ("take", ["k"], ["stock", "9" * 20], "ERR"), ("take", ["k"], ["stock"], "ERR"),
                                        ("take", [], [], "ERR"), ("take", ["k"], ["stock", 1, "WHAT"], "ERR"),
                                        ("take", ["k", "k"], ["stock", 1, "stock", 1], "ERR"), ("take", ["k"], ["month", 1], "ERR"),
                                        ("hold", ["k"], ["stock", 1], "ERR"), ("commit", ["none"], [], "NOHOLD"),
                                        ("give", ["k"], ["stock", 0], "ERR"), ("take", ["k" * 513], ["stock", 1], "ERR"),
                                        ("take", [""], ["stock", 1], "ERR"), ("take", ["k"], ["\1epoch", 1], "NOLIMIT"),
                                        ("take", [f"k{n}" for n in range(17)], ["stock", 1] * 17, "ERR"),
                                        ("take", ["k"], ["stock", 1, "ID", "i" * 129], "ERR"),
                                        ("take", ["k"], ["stock", 1, "ID", ""], "ERR"),
                                        ("extend", ["none"], [1, 2], "ERR"), ("cancel", ["i" * 129], [], "ERR")):
            with self.subTest(name=name, words=words):
                self.assertEqual(self.call(name, keys, *words).code, code)
        self.redis.client.ask("SET", "mete:{k}:stock", "text")
        self.assertEqual(self.call("take", ["k"], "stock", 1).code, "UNAVAILABLE")

    def test_no_call_makes_a_meter_useless_to_servers(self):
        self.migrate()
        for limit in LIMITS:
            for name, keys, words in (("hold", ["k"], [limit, 1, "TTL", 99999999999999, "ID", "bad"]),
                                      ("hold", ["k"], [limit, 1, "TTL", 366 * 86_400_000 + 1, "ID", "bad"]),
                                      ("hold", ["k"], [limit, 1, "TTL", 60_000, "ID", "bad", "TAG", "t" * 513]),
                                      ("hold", ["k"], [limit, 1, "TTL", 60_000, "ID", "i" * 129]),
                                      ("extend", ["held"], [9007199254740991]), ("extend", ["held"], [366 * 86_400_000 + 1])):
                with self.subTest(limit=limit, name=name, words=words):
                    self.assertEqual(self.resp.ask("HOLD", limit, "k", "TTL", "1h", "ID", "held")[0], 1)
                    self.assertEqual(self.call(name, keys, *words).code, "ERR")
                    self.assertEqual(self.resp.ask("USAGE", limit, "k")[:2], [0, 1])
                    self.assertNotIsInstance(self.resp.ask("CANCEL", "held"), harness.Failure)
                    self.redis.client.ask("DEL", "mete.id:{held}")
            self.assertEqual(self.call("hold", ["k"], limit, 1, "TTL", 366 * 86_400_000, "ID", limit)[0], 1)
            self.assertNotIsInstance(self.resp.ask("CANCEL", limit), harness.Failure)

    def test_what_nodes_keep_for_themselves_is_not_there(self):
        self.migrate()
        self.redis.client.ask("HSET", "mete.limits", "mete.own", self.redis.client.ask("HGET", "mete.limits", "stock"))
        for name, words in (("take", [1]), ("peek", [1]), ("usage", []), ("give", [1]), ("hold", [1, "TTL", 1000, "ID", "i"])):
            with self.subTest(name=name):
                self.assertEqual(self.call(name, ["k"], "mete.own", *words).code, "NOLIMIT")
        for name, words in (("take", [1]), ("take", [1, "FORCE"]), ("peek", [1]), ("usage", []), ("give", [1]),
                            ("hold", [1, "TTL", 1000, "ID", "i"])):
            with self.subTest(name=name, words=words):
                self.assertIn("key 'mete-generation' is for", self.call(name, ["mete-generation"], "stock", *words))
        for id in ("mete-1", "{k}mete-1"):
            for name, words in (("take", ["ID", id]), ("give", ["ID", id]), ("hold", ["TTL", 1000, "ID", id])):
                with self.subTest(name=name, id=id):
                    self.assertEqual(self.call(name, ["k"], "stock", 1, *words).code, "ERR")
            for name, words in (("commit", []), ("cancel", []), ("extend", [1000])):
                with self.subTest(name=name, id=id):
                    self.assertEqual(self.call(name, [id], *words).code, "NOHOLD")
        self.assertEqual(self.call("hold", ["k"], "stock", 1, "TTL", 1000, "ID", "i", "TAG", "mete-job").code, "ERR")
        self.assertEqual(self.call("usage", ["k"], "stock")[:2], [0, 0])

    def test_a_hold_beyond_all_times_is_named_and_can_be_ended(self):
        """Version 1 of the library made such records."""
        for limit in LIMITS:
            for end in ("CANCEL", "COMMIT", "EXTEND"):
                with self.subTest(limit=limit, end=end):
                    id = f"{limit}-{end}"
                    self.assertEqual(self.resp.ask("HOLD", limit, id, "TTL", "1h", "ID", id)[0], 1)
                    self.redis.client.ask("EVAL", FAR_AWAY, 3, f"mete:{{{id}}}:{limit}", f"mete.held:{{{id}}}:{limit}",
                                          f"mete.id:{{{id}}}", f"0:{id}")
                    for refused in (self.resp.ask("TAKE", limit, id), self.resp.ask("USAGE", limit, id)):
                        self.assertEqual(refused.code, "UNAVAILABLE")
                        self.assertIn(f"mete.held:{{{id}}}:{limit}", refused)
                        self.assertIn(f"0:{id}", refused)
                    self.assertNotIsInstance(self.resp.ask("HOLD.GET", id), harness.Failure)
                    words = ["TTL", "1h"] if end == "EXTEND" else []
                    self.assertNotIsInstance(self.resp.ask(end, id, *words), harness.Failure)
                    self.assertEqual(self.resp.ask("TAKE", limit, id)[0], 1)
                    self.assertEqual(self.resp.ask("USAGE", limit, id)[:2], {"CANCEL": [1, 0], "COMMIT": [2, 0], "EXTEND": [1, 1]}[end])


if __name__ == "__main__":
    harness.main()
