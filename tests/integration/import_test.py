"""`mete import redis`: from a real Redis, with the layouts that are out there and what is wrong in them, into a real server."""

import datetime
import json
import os
import pty
import subprocess
import unittest

import harness
import redis_server

DONE, NO, ERROR = 0, 1, 2  # exit statuses
PAIRS = ("--used", "quota:tenant:*:used", "--limit", "quota:tenant:*:limit", "--as", "storage")
MONTHS = ("--as", "links", "users:*:quota:*")


def all_that_was_written(terminal):
    """The text of a pseudo terminal that nobody writes to any more; one read may return only a part of it."""
    text = b""
    while True:
        try:
            text += os.read(terminal, 65536)
        except OSError:  # nobody has the other side any more, and all is read
            return text.decode()


class Redis(redis_server.Redis):
    def set(self, **values):
        """quota:tenant:acme:used as acme_used=…"""
        for name, value in values.items():
            tenant, kind = name.rsplit("_", 1)
            self.client.ask("SET", f"quota:tenant:{tenant}:{kind}", value)


class ImportTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = harness.Server(self)
        self.redis = Redis(self)

    def mete(self, *words, server=None, redis=None, **options):
        address = f"127.0.0.1:{(server or self.server).resp_port}"
        return harness.run(harness.program, "import", "redis", *words, "--server", address,
                           "--from", redis or self.redis.url(), check=False, **options)

    def imports(self, *words, status=DONE, **options):
        """As JSON."""
        result = self.mete(*words, "--json", **options)
        self.assertEqual((result.returncode, result.stderr), (status, ""), result.stdout)
        return json.loads(result.stdout)

    def fails(self, message, *words, **options):
        result = self.mete(*words, **options)
        self.assertEqual((result.returncode, result.stdout), (ERROR, ""), result.stderr)
        self.assertIn(message, result.stderr)

    def counts(self, report):
        return tuple(report[name] for name in ("imported", "usages", "amounts", "unchanged", "skipped"))

    def usage(self, key, limit="storage", server=None):
        """(used, amount)"""
        used, _, _, amount, _ = (server or self.server).ask("USAGE", limit, key)
        return used, amount


class Pairs(ImportTest):
    def setUp(self):
        super().setUp()
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 1000)

    def test_become_usage_and_overrides(self):
        self.redis.set(acme_used=800, acme_limit=1000, big_used=70, big_limit=5_000_000_000, over_used=150, over_limit=100)
        self.redis.client.ask("SET", "quota:tenant:with:colons:used", 1)
        self.redis.client.ask("SET", "quota:tenant:with:colons:limit", 2)
        report = self.imports(*PAIRS)
        self.assertEqual(self.counts(report), (4, 4, 3, 0, 0))
        self.assertEqual(self.usage("acme"), (800, 1000))
        self.assertEqual(self.usage("big"), (70, 5_000_000_000))
        self.assertEqual(self.usage("over"), (150, 100))
        self.assertEqual(self.usage("with:colons"), (1, 2))
        self.assertEqual(self.server.ask("TAKE", "storage", "over")[0], 0)
        # An amount that is the limit's own is no override: it follows the limit.
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 2000)
        self.assertEqual(self.usage("acme"), (800, 2000))
        self.assertEqual(self.usage("over"), (150, 100))

    def test_that_are_right_already_are_left_alone(self):
        self.redis.set(acme_used=800, acme_limit=1000, big_used=70, big_limit=5000)
        self.assertEqual(self.counts(self.imports(*PAIRS)), (2, 2, 1, 0, 0))
        self.assertEqual(self.counts(self.imports(*PAIRS)), (0, 0, 0, 2, 0))
        self.redis.set(acme_used=900)
        self.server.ask("TAKE", "storage", "big", "COST", 5)
        again = self.imports(*PAIRS)
        self.assertEqual(self.counts(again), (2, 2, 0, 0, 0))
        self.assertEqual((self.usage("acme"), self.usage("big")), ((900, 1000), (70, 5000)))
        # An override that is no more in Redis's opinion goes.
        self.redis.set(big_limit=1000)
        self.assertEqual(self.counts(self.imports(*PAIRS)), (1, 0, 1, 1, 0))
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 2000)
        self.assertEqual(self.usage("big"), (70, 2000))

    def test_that_are_wrong_are_skipped_and_told(self):
        wrong = {
            "lua": ("2e+17", 1000, "used", "'2e+17' is not an integer"),
            "lua2": (5, "2e+17", "limit", "'2e+17' is not an integer"),
            "minus": (-5, 1000, "used", "'-5' is below 0"),
            "half": ("1.5", 1000, "used", "'1.5' is not an integer"),
            "word": ("many", 1000, "used", "'many' is not an integer"),
            "huge": (2**53, 1000, "used", "'9007199254740992' is more than 9,007,199,254,740,991"),
            "none": (5, 0, "limit", "'0': an amount is 1 at least"),
            "usedalone": (5, None, "used", "there is no 'quota:tenant:usedalone:limit'"),
            "limitalone": (None, 5, "limit", "there is no 'quota:tenant:limitalone:used'"),
        }
        for tenant, (used, limit, _, _) in wrong.items():
            self.redis.set(**{f"{tenant}_{kind}": value for kind, value in (("used", used), ("limit", limit))
                              if value is not None})
        self.redis.client.ask("RPUSH", "quota:tenant:list:used", 1)
        self.redis.set(list_limit=5, good_used=5, good_limit=10)
        report = self.imports(*PAIRS, status=NO)
        self.assertEqual(self.counts(report), (1, 1, 1, 0, len(wrong) + 1))
        told = {each["name"]: each["reason"] for each in report["first_skipped"]}
        self.assertEqual(len(told), len(wrong) + 1)
        for tenant, (_, _, kind, reason) in wrong.items():
            self.assertIn(reason, told[f"quota:tenant:{tenant}:{kind}"])
            self.assertEqual(self.usage(tenant), (0, 1000))
        self.assertIn("is no string: WRONGTYPE", told["quota:tenant:list:used"])
        self.assertEqual(self.usage("good"), (5, 10))
        # As text, the first ten are named.
        self.redis.set(eleventh_used="x", eleventh_limit=1)
        text = self.mete(*PAIRS).stdout
        self.assertIn("skipped    11\n", text)
        self.assertIn("… and 1 more\n", text)
        self.assertEqual(text.count("quota:tenant:"), 10 + text.count("there is no"))

    def test_of_which_one_is_asked_for(self):
        self.redis.set(a_used=5, b_limit=7, c_used=8, c_limit=9)
        report = self.imports("--used", "quota:tenant:*:used", "--as", "storage")
        self.assertEqual(self.counts(report), (2, 2, 0, 0, 0))
        self.assertEqual((self.usage("a"), self.usage("b"), self.usage("c")), ((5, 1000), (0, 1000), (8, 1000)))
        report = self.imports("--limit", "quota:tenant:*:limit", "--as", "storage")
        self.assertEqual(self.counts(report), (2, 0, 2, 0, 0))
        self.assertEqual((self.usage("a"), self.usage("b"), self.usage("c")), ((5, 1000), (0, 7), (8, 9)))

    def test_are_only_looked_at_in_a_dry_run(self):
        self.redis.set(acme_used=800, acme_limit=1000, big_used=70, big_limit=5000, bad_used="x", bad_limit=1)
        before = self.server.ask("USAGE", "storage", "acme"), self.server.ask("USAGE", "storage", "big")
        result = self.mete(*PAIRS, "--dry-run")
        self.assertEqual((result.returncode, result.stderr), (NO, ""))
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "KEY      USED         AMOUNT")
        self.assertEqual(sorted(lines[1:3]), ["acme  0 → 800          1,000", "big    0 → 70  1,000 → 5,000"])
        self.assertEqual(lines[3:], [
            "", "to import  2 (usage of 2, amount of 1)", "unchanged  0", "skipped    1",
            "", "SKIPPED                WHY", "quota:tenant:bad:used  'x' is not an integer",
            "", "This was a dry run: nothing was changed."])
        self.assertEqual(before, (self.server.ask("USAGE", "storage", "acme"), self.server.ask("USAGE", "storage", "big")))
        self.assertTrue(self.imports(*PAIRS, "--dry-run", status=NO)["dry_run"])

    def test_in_great_number(self):
        count = 5000
        words = b"".join(harness.encode("SET", f"quota:tenant:{i}:{kind}", i + extra) +
                         harness.encode("SET", f"other:{i}:{kind}", "x")
                         for i in range(count) for kind, extra in (("used", 0), ("limit", 5000)))
        self.redis.client.send(words)
        for _ in range(4 * count):
            self.redis.client.reply()
        report = self.imports(*PAIRS)
        self.assertEqual(self.counts(report), (count, count - 1, count, 0, 0))  # one has used nothing
        for i in (0, 1, 1234, count - 1):
            self.assertEqual(self.usage(str(i)), (i, i + 5000))
        self.assertEqual(self.counts(self.imports(*PAIRS)), (0, 0, 0, count, 0))

    def test_leave_held_amounts_alone(self):
        self.redis.set(acme_used=800, acme_limit=1000)
        self.server.ask("HOLD", "storage", "acme", "COST", 50, "TTL", "1h")
        self.imports(*PAIRS)
        self.assertEqual(self.server.ask("USAGE", "storage", "acme")[:3], [800, 50, 150])
        self.assertEqual(self.counts(self.imports(*PAIRS)), (0, 0, 0, 1, 0))

    def test_are_only_read(self):
        """By a user that may do nothing else; and nothing stays behind."""
        self.redis.set(acme_used=800, acme_limit=1000)
        self.redis.client.ask("ACL", "SETUSER", "reader", "on", ">secret", "~*", "-@all", "+scan", "+get", "+dbsize", "+ping")
        report = self.imports(*PAIRS, redis=self.redis.url(user="reader:secret@"))
        self.assertEqual(self.counts(report), (1, 1, 0, 0, 0))
        memory = self.redis.client.ask("INFO", "memory").decode()
        self.assertIn("number_of_cached_scripts:0\r", memory)
        self.assertEqual(self.redis.client.ask("DBSIZE"), 2)

    def test_go_into_any_store(self):
        """Here into one that is in the same Redis, in another database."""
        self.redis.client.ask("SELECT", 3)
        self.redis.set(acme_used=800, acme_limit=1500)
        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", self.redis.url(),
                                listen=False)
        server.ask("LIMIT", "SET", "storage", "STOCK", 1000)
        source = self.redis.url(3)
        self.assertEqual(self.counts(self.imports(*PAIRS, server=server, redis=source)), (1, 1, 1, 0, 0))
        self.assertEqual(self.usage("acme", server=server), (800, 1500))
        self.assertEqual(self.counts(self.imports(*PAIRS, server=server, redis=source)), (0, 0, 0, 1, 0))


class Months(ImportTest):
    def test_only_the_current_one_counts(self):
        self.server.ask("LIMIT", "SET", "links", "CALENDAR", 20, "PER", "MONTH")
        seconds = int(self.server.ask("TIME")[0])
        today = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        this = f"{today:%Y-%m}"
        before = f"{today.replace(day=1) - datetime.timedelta(days=1):%Y-%m}"
        after = f"{today.replace(day=1) + datetime.timedelta(days=32):%Y-%m}"
        for key, value in ((f"1:quota:{this}", 7), (f"1:quota:{before}", 19), (f"2:quota:{before}", 20),
                           (f"3:quota:{this}", 25), (f"a:quota:b:quota:{this}", 2), (f"4:quota:{this}", "x"),
                           (f"5:quota:{after}", 1), ("6:quota:all", 1)):
            self.redis.client.ask("SET", f"users:{key}", value, "EX", 3600)
        report = self.imports(*MONTHS, status=NO)
        self.assertEqual(self.counts(report), (3, 3, 0, 0, 3))
        self.assertEqual(report["skipped_earlier_months"], 2)
        told = {each["name"]: each["reason"] for each in report["first_skipped"]}
        self.assertEqual(told, {f"users:4:quota:{this}": "'x' is not an integer",
                                f"users:5:quota:{after}": f"of a month that has not begun: it is {this} now",
                                "users:6:quota:all": "'all' is no month, as YYYY-MM"})
        self.assertEqual([self.usage(key, "links")[0] for key in ("1", "2", "3", "a:quota:b")], [7, 0, 25, 2])
        self.assertEqual(self.server.ask("TAKE", "links", "3")[0], 0)
        self.assertEqual(self.counts(self.imports(*MONTHS, status=NO)), (0, 0, 0, 3, 3))

    def test_earlier_ones_alone_are_no_failure(self):
        self.server.ask("LIMIT", "SET", "links", "CALENDAR", 20, "PER", "MONTH", "ZONE", "Europe/Berlin")
        self.redis.client.ask("SET", "users:1:quota:2020-02", 3)
        result = self.mete(*MONTHS)
        self.assertEqual((result.returncode, result.stderr), (DONE, ""))
        self.assertIn("skipped, of earlier months  1\n", result.stdout)


class Mistakes(ImportTest):
    def test_in_the_limit(self):
        self.fails("no limit 'storage': define it with: mete limit set storage stock AMOUNT", *PAIRS)
        self.fails("no limit 'links': define it with: mete limit set links calendar AMOUNT --per month", *MONTHS)
        self.server.ask("LIMIT", "SET", "storage", "BUCKET", 10, "PER", "1m")
        self.fails("the limit 'storage' is a bucket, and what is used until it is given back needs a stock", *PAIRS)
        self.server.ask("LIMIT", "SET", "links", "CALENDAR", 10, "PER", "DAY")
        self.fails("is a calendar per day, and counters per month need a calendar per month", *MONTHS)
        self.server.ask("LIMIT", "SET", "links", "CALENDAR", 10, "PER", "MONTH", "ANCHOR", 15)
        self.fails("begin on day 15", *MONTHS)

    def test_in_the_command_line(self):
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 1000)
        self.fails("which keys? Give --used and --limit, or the MONTHS", "--as", "storage")
        self.fails("--used needs one star", "--used", "quota", "--as", "storage")
        self.fails("--limit needs one star", "--limit", "*:*", "--as", "storage")
        self.fails("MONTHS needs two stars", "users:*", "--as", "storage")
        self.fails("MONTHS goes without --used and --limit", "users:*:quota:*", *PAIRS)
        self.fails("--used and --limit are the same", "--used", "a:*", "--limit", "a:*", "--as", "storage")
        self.fails("option '--as' is missing", "--used", "a:*")

    def test_in_the_place(self):
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 1000)
        self.fails("--from: ", *PAIRS, redis=f"redis://127.0.0.1:{harness.free_port()}")
        self.fails("the URL of Redis is wrong", *PAIRS, redis="http://127.0.0.1")
        result = self.mete(*PAIRS)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (
            NO, "no key of Redis is like 'quota:tenant:*:used' or 'quota:tenant:*:limit': check that, and the database in "
                "--from\n", ""))

    def test_of_the_password(self):
        server = harness.Server(self, "--password", "admin", "--use-password", "use")
        with server.resp(password="admin") as client:
            client.ask("LIMIT", "SET", "storage", "STOCK", 1000)
        self.redis.set(acme_used=800, acme_limit=1000)
        self.fails("Give the password with --password", *PAIRS, server=server)
        self.fails("0 keys were imported before, and more may have been: run it again to go on", *PAIRS, "--password",
                   "use", server=server)
        self.assertEqual(self.counts(self.imports(*PAIRS, "--password", "admin", server=server)), (1, 1, 0, 0, 0))


class Bar(ImportTest):
    def test_is_for_terminals_alone(self):
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 1000)
        self.redis.set(acme_used=800, acme_limit=1000)
        self.assertEqual(self.mete(*PAIRS).stderr, "")
        terminal, stderr = pty.openpty()
        self.addCleanup(os.close, terminal)
        process = subprocess.run(
            [harness.program, "import", "redis", *PAIRS, "--server", f"127.0.0.1:{self.server.resp_port}",
             "--from", self.redis.url()], stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=harness.PATIENCE_S)
        os.close(stderr)
        self.assertEqual(process.returncode, DONE)
        self.assertIn("unchanged  1\n", process.stdout)
        shown = all_that_was_written(terminal)
        self.assertRegex(shown, r"importing  \[[#.]{24}\]  \d+%  \d+ keys")
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)


if __name__ == "__main__":
    harness.main()
