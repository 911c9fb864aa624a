#!/usr/bin/env python3
"""Every command of the RESP contract, in RESP2 and RESP3: what it replies, by type and value."""

import re
import threading
import unittest

import harness
from harness import Failure, Simple

OK = Simple("OK")


class Whole:
    """An integer between two bounds, for what depends on the time."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def __eq__(self, other):
        return type(other) is int and self.low <= other <= self.high

    def __repr__(self):
        return f"Whole({self.low}, {self.high})"


class Like:
    """Text that matches a pattern as a whole; `of` is the type on the wire."""

    def __init__(self, pattern, of=bytes):
        self.pattern, self.of = pattern, of

    def __eq__(self, other):
        text = other.decode() if isinstance(other, bytes) else other
        return type(other) is self.of and re.fullmatch(self.pattern, text, re.S) is not None

    def __repr__(self):
        return f"Like({self.pattern!r}, {self.of.__name__})"


class Map:
    """A map in RESP3, and a flat array of field, value in RESP2; `at_least`: there may be other fields."""

    def __init__(self, fields, at_least=False):
        self.fields, self.at_least = fields, at_least

    def __eq__(self, other):
        if isinstance(other, list):
            if Map.version != 2 or len(other) % 2 != 0:
                return False
            other = dict(zip(other[::2], other[1::2]))
        elif not isinstance(other, dict) or Map.version != 3:
            return False
        named = {field: other.get(field, "absent") for field in self.fields} if self.at_least else other
        return named == self.fields

    def __repr__(self):
        return f"Map({self.fields}, at_least={self.at_least})"


class ListOf:
    """An array of things that all are like one, or that has certain members."""

    def __init__(self, like=None, among=()):
        self.like, self.among = like, among

    def __eq__(self, other):
        return (isinstance(other, list) and len(other) > 0 and all(self.like is None or one == self.like for one in other)
                and all(member in other for member in self.among))

    def __repr__(self):
        return f"ListOf({self.like}, among={self.among})"


def error(start, of=Failure):
    return Like(re.escape(start) + ".*", of)


INTEGER_ERROR = Failure("ERR value is not an integer or out of range")
SYNTAX_ERROR = Failure("ERR syntax error")
ID = Like("[0-9a-f]{32}")  # 128 random bits
MINUTE = Whole(1, 60_000)

# Each is a history of its own: command, reply. The names of one are used in no other.
HISTORIES = {
    "LIMIT SET, one of each kind": [
        ("LIMIT SET b BUCKET 100 PER 1m BURST 200", OK),
        ("LIMIT SET w WINDOW 5 PER 1h", OK),
        ("LIMIT SET s SLIDING 10 PER 250ms", OK),
        ("LIMIT SET c CALENDAR 20 PER MONTH ZONE Europe/Berlin ANCHOR 15", OK),
        ("LIMIT SET st STOCK 5000000000", OK),
        ("limit set lower bucket 1 per 1s", OK),
        ("LIMIT SET seconds BUCKET 1 PER 60", OK),
        ("LIMIT SET all WINDOW 5 PER 1h DURABLE never ONFAIL open SHADOW SCOPE node", OK),
        ("LIMIT GET b", Map({b"name": b"b", b"kind": b"bucket", b"amount": 100, b"period": b"1m", b"burst": 200})),
        ("LIMIT GET w", Map({b"name": b"w", b"kind": b"window", b"amount": 5, b"period": b"1h"})),
        ("LIMIT GET s", Map({b"name": b"s", b"kind": b"sliding", b"amount": 10, b"period": b"250ms"})),
        ("LIMIT GET c", Map({b"kind": b"calendar", b"amount": 20, b"period": b"month", b"zone": b"Europe/Berlin",
                             b"anchor": 15}, at_least=True)),
        ("LIMIT GET st", Map({b"name": b"st", b"kind": b"stock", b"amount": 5_000_000_000})),
        ("LIMIT GET seconds", Map({b"period": b"1m"}, at_least=True)),
        ("LIMIT GET all", Map({b"durable": b"never", b"on_fail": b"open", b"shadow": 1}, at_least=True)),
        ("LIMIT GET nobody", None),
        ("LIMIT LIST", ListOf(Like(".+"), among=[b"b", b"w", b"s", b"c", b"st", b"lower", b"seconds", b"all"])),
        ("LIMIT DEL b", 1),
        ("LIMIT DEL b", 0),
        ("TAKE b k", Failure("NOLIMIT unknown limit 'b'")),
    ],
    "LIMIT OVERRIDE": [
        ("LIMIT SET over STOCK 10", OK),
        ("LIMIT OVERRIDE over vip 100", OK),
        ("TAKE over vip", [1, 99, 100, 0, -1, []]),
        ("TAKE over other", [1, 9, 10, 0, -1, []]),
        ("LIMIT OVERRIDE over vip NONE", OK),
        ("TAKE over vip", [1, 8, 10, 0, -1, []]),
        ("LIMIT OVERRIDE nobody k 1", Failure("NOLIMIT unknown limit 'nobody'")),
    ],
    "TAKE": [
        ("LIMIT SET take BUCKET 10 PER 1m", OK),
        ("TAKE take alice", [1, 9, 10, 0, 6000, []]),
        ("take take alice cost 4", [1, 5, 10, 0, Whole(28_000, 30_000), []]),
        ("TAKE take alice COST 6", [0, 5, 10, Whole(4_000, 6_000), Whole(28_000, 30_000), [b"take"]]),
        ("TAKE take alice COST 11", [0, 5, 10, -1, Whole(28_000, 30_000), [b"take"]]),  # it can never fit
        ("TAKE take alice COST 0", [1, 5, 10, 0, Whole(28_000, 30_000), []]),
        ("TAKE nobody alice", Failure("NOLIMIT unknown limit 'nobody'")),
        ("TAKE take alice COST x", INTEGER_ERROR),
        ("TAKE take alice COST", SYNTAX_ERROR),
        ("TAKE take alice NONSENSE", SYNTAX_ERROR),
        ("TAKE take alice FORCE UPTO", SYNTAX_ERROR),
        ("TAKE take", Failure("ERR wrong number of arguments for 'take' command")),
    ],
    "TAKE of several, all or nothing": [
        ("LIMIT SET ten STOCK 10", OK),
        ("LIMIT SET three STOCK 3", OK),
        ("TAKE ten k AND three k COST 2", [1, 1, 3, 0, -1, []]),  # the tightest is told
        ("TAKE ten k COST 20 AND three k COST 2", [0, 1, 3, -1, -1, [b"ten", b"three"]]),
        ("TAKE ten k AND three k COST 2", [0, 1, 3, -1, -1, [b"three"]]),
        ("USAGE ten k", [1, 0, 9, 10, -1]),
    ],
    "TAKE with ID, FORCE, UPTO": [
        ("LIMIT SET modes STOCK 10", OK),
        ("TAKE modes k COST 4 ID op-1", [1, 6, 10, 0, -1, []]),
        ("TAKE modes k COST 4 ID op-1", [1, 6, 10, 0, -1, []]),  # charged once
        ("TAKE modes k COST 5 ID op-1", error("MISMATCH ")),
        ("TAKE modes k COST 9 UPTO", [6, 0, 10, 0, -1, []]),
        ("TAKE modes k COST 9 UPTO", [0, 0, 10, -1, -1, [b"modes"]]),
        ("TAKE modes k COST 5 FORCE", [1, 0, 10, 0, -1, []]),
        ("USAGE modes k", [15, 0, 0, 10, -1]),
    ],
    "TAKE with WAIT that need not, or must not": [
        ("LIMIT SET wait WINDOW 1 PER 1h", OK),
        ("TAKE wait k WAIT 1s", [1, 0, 1, 0, Whole(1, 3_600_000), []]),
        ("TAKE wait k WAIT 20ms", [0, 0, 1, Whole(1, 3_600_000), Whole(1, 3_600_000), [b"wait"]]),
        ("TAKE wait k WAIT soon", error("ERR ")),
    ],
    "PEEK, GIVE, USAGE, RECONCILE": [
        ("LIMIT SET books STOCK 10", OK),
        ("PEEK books k COST 4", [1, 6, 10, 0, -1, []]),
        ("USAGE books k", [0, 0, 10, 10, -1]),
        ("TAKE books k COST 6", [1, 4, 10, 0, -1, []]),
        ("PEEK books k COST 5", [0, 4, 10, -1, -1, [b"books"]]),
        ("GIVE books k COST 2", [2, 6, 10]),
        ("GIVE books k COST 2 ID give-1", [2, 8, 10]),
        ("GIVE books k COST 2 ID give-1", [2, 8, 10]),
        ("GIVE books k COST 100", [2, 10, 10]),  # at most what is used
        ("RECONCILE books k 7", [0, 7]),
        ("USAGE books k", [7, 0, 3, 10, -1]),
        ("RECONCILE books k -1", error("ERR ")),
        ("GIVE nobody k", Failure("NOLIMIT unknown limit 'nobody'")),
        ("USAGE nobody k", Failure("NOLIMIT unknown limit 'nobody'")),
    ],
    "HOLD and its ends": [
        ("LIMIT SET credits STOCK 100", OK),
        ("HOLD credits k COST 10 TTL 1m", [1, ID, 90, 100, 0, -1, []]),
        ("HOLD credits k COST 10 TTL 1m ID h1 TAG job", [1, b"h1", 80, 100, 0, -1, []]),
        ("HOLD credits k COST 10 TTL 1m ID h1 TAG job", [1, b"h1", 80, 100, 0, -1, []]),
        # It fits when one of the two holds has expired, if nobody commits it.
        ("HOLD credits k COST 81 TTL 1m", [0, Like("[0-9a-f]*"), 80, 100, Whole(50_000, 60_000), -1, [b"credits"]]),
        ("USAGE credits k", [0, 20, 80, 100, -1]),
        ("HOLD.GET h1", Map({b"state": b"held", b"expires_in_ms": MINUTE, b"tag": b"job",
                             b"charges": [[b"credits", b"k", 10]]})),
        ("HOLD.GET nobody", None),
        ("HOLDS credits k", ListOf(Like(".+"), among=[b"h1"])),
        ("HOLDS credits k COUNT 1", ListOf(Like(".+"))),
        ("HOLDS TAG job", [b"h1"]),
        ("HOLDS TAG nobody", []),
        ("EXTEND h1 TTL 2m", Whole(119_000, 120_000)),
        ("COMMIT h1 11", error("EXCEEDS ")),
        ("COMMIT h1 7", [7, 83, 100]),
        ("COMMIT h1 7", [7, 83, 100]),  # the same again
        ("COMMIT h1 6", error("MISMATCH")),
        ("COMMIT h1", error("MISMATCH")),
        ("CANCEL h1", error("NOHOLD")),  # final once
        ("HOLD.GET h1", Map({b"state": b"committed"}, at_least=True)),
        ("HOLD credits k COST 5 TTL 1m ID h2", [1, b"h2", 78, 100, 0, -1, []]),
        ("CANCEL h2", [5, 83, 100]),
        ("CANCEL h2", [5, 83, 100]),
        ("COMMIT h2", error("NOHOLD")),
        ("EXTEND h2 TTL 1m", error("")),
        ("HOLD credits k COST 5 TTL 1m ID h3", [1, b"h3", 78, 100, 0, -1, []]),
        ("COMMIT h3 9 OVERAGE", [9, 74, 100]),
        ("HOLD credits k COST 5 TTL 1m ID h4", [1, b"h4", 69, 100, 0, -1, []]),
        ("COMMIT h4", [5, 69, 100]),
        ("COMMIT nobody", error("NOHOLD")),
        ("CANCEL nobody", error("NOHOLD")),
        ("EXTEND nobody TTL 1m", error("NOHOLD")),
        ("HOLD credits k COST 5", error("ERR ")),  # for how long?
    ],
    "HOLD of several": [
        ("LIMIT SET left STOCK 10", OK),
        ("LIMIT SET right STOCK 5", OK),
        ("HOLD left k COST 4 AND right k COST 4 TTL 1m ID both", [1, b"both", 1, 5, 0, -1, []]),
        ("HOLD.GET both", Map({b"charges": [[b"left", b"k", 4], [b"right", b"k", 4]]}, at_least=True)),
        ("COMMIT both 3 2", [5, 3, 5]),
        ("USAGE left k", [3, 0, 7, 10, -1]),
        ("USAGE right k", [2, 0, 3, 5, -1]),
    ],
    "Redis counters": [
        ("SET n 5", OK),
        ("GET n", b"5"),
        ("INCR n", 6),
        ("INCRBY n 4", 10),
        ("DECR n", 9),
        ("DECRBY n 4", 5),
        ("SET n 6 NX", None),
        ("SET n 6 XX GET", b"5"),
        ("SET n 7 EX 100", OK),
        ("TTL n", Whole(99, 100)),
        ("PTTL n", Whole(99_000, 100_000)),
        ("SET n 8 KEEPTTL", OK),
        ("TTL n", Whole(99, 100)),
        ("SET n 8 PX 60000", OK),
        ("PTTL n", MINUTE),
        ("SET n 8 EXAT 99999999999", error("ERR ")),  # past what the store can say
        ("SET n 8 EXAT 4102444800", OK),
        ("SET n 8 PXAT 4102444800000", OK),
        ("PERSIST n", 1),
        ("PERSIST n", 0),
        ("TTL n", -1),
        ("TTL nobody", -2),
        ("EXPIRE n 100", 1),
        ("PEXPIRE n 100000", 1),
        ("EXPIREAT n 4102444800", 1),
        ("EXPIRE nobody 100", 0),
        ("EXPIRE n 100 NX", 0),
        ("EXPIRE n 100 XX LT", 1),
        ("EXPIRE n 50 GT", 0),
        ("PEXPIRE n 200000 GT", 1),
        ("EXPIRE n 100 NX LT", Failure("ERR NX and XX, GT or LT options at the same time are not compatible")),
        ("EXPIRE n 100 GT LT", Failure("ERR GT and LT options at the same time are not compatible")),
        ("EXPIRE n 100 NEVER", Failure("ERR Unsupported option NEVER")),
        ("MGET n nobody", [b"8", None]),
        ("EXISTS n nobody n", 2),
        ("TYPE n", Simple("string")),
        ("TYPE nobody", Simple("none")),
        ("GETDEL n", b"8"),
        ("GETDEL n", None),
        ("GET n", None),
        ("SET d 1", OK),
        ("DEL d nobody", 1),
        ("SET n text", INTEGER_ERROR),
        ("SET n 1.5", INTEGER_ERROR),
        ("INCRBY n x", INTEGER_ERROR),
        ("SET n 9223372036854775807", OK),
        ("INCR n", Failure("ERR increment or decrement would overflow")),
        ("GET n", b"9223372036854775807"),
    ],
    "INCREX": [
        ("INCREX x", [1, 1]),
        ("INCREX x BYINT 5", [6, 5]),
        ("INCREX x BYINT 5 UBOUND 10", [6, 0]),
        ("INCREX x BYINT 5 UBOUND 10 SATURATE", [10, 4]),
        ("INCREX x BYINT -20 LBOUND 0", [10, 0]),
        ("INCREX x BYINT -20 LBOUND 0 SATURATE", [0, -10]),
        ("INCREX x EX 100", [1, 1]),
        ("TTL x", Whole(99, 100)),
        ("INCREX x EX 1000 ENX", [2, 1]),
        ("TTL x", Whole(99, 100)),
        ("INCREX x PERSIST", [3, 1]),
        ("TTL x", -1),
        ("INCREX x PX 60000 ENX", [4, 1]),
        ("PTTL x", MINUTE),
        ("INCREX x BYFLOAT 1.5", error("ERR ")),
        ("GET x", b"4"),
    ],
    "quotas": [
        ("QUOTASET q 10 3600", OK),
        ("QUOTAGET q", [10, 3600, 10]),
        ("INCR q", 9),
        ("INCRBY q 4", 5),
        ("INCRBY q 6", -1),
        ("GET q", b"5"),
        ("QUOTASET q 20 3600", OK),  # what is used stays used
        ("QUOTAGET q", [20, 3600, 15]),
        ("DECR q", error("")),
        ("DECRBY q 1", error("")),
        ("TYPE q", Simple("quota")),
        ("QUOTADEL q", OK),
        ("QUOTAGET q", None),
        ("QUOTAINCR p 10 3600", 9),
        ("QUOTAINCR p 10 3600 9", 0),
        ("QUOTAINCR p 10 3600", -1),
        ("QUOTAGET p", [10, 3600, 0]),
    ],
    "CL.THROTTLE, THROTTLE, GCRA": [
        ("CL.THROTTLE cell 2 60 60", [0, 3, 2, -1, 1]),
        ("CL.THROTTLE cell 2 60 60 2", [0, 3, 0, -1, Whole(2, 3)]),
        ("CL.THROTTLE cell 2 60 60", [1, 3, 0, 1, Whole(2, 3)]),
        ("CL.THROTTLE cell 2 60 60 4", [1, 3, 0, -1, Whole(2, 3)]),  # it can never fit
        ("CL.THROTTLE cell 2 60 60 0", [0, 3, 0, -1, Whole(2, 3)]),
        ("THROTTLE crab 2 60 3600", [1, 2, 1, 60, 0]),
        ("THROTTLE crab 2 60 3600", [1, 2, 0, Whole(119, 120), 0]),
        ("THROTTLE crab 2 60 3600", [0, 2, 0, Whole(119, 120), Whole(59, 60)]),
        ("GCRA gcra 2 60 60.5", [0, 3, 2, -1, Whole(1, 2)]),
        ("GCRA gcra 2 60 60.5 TOKENS 2", [0, 3, 0, -1, Whole(2, 4)]),
        ("GCRA gcra 2 60 60.5", [1, 3, 0, Whole(1, 2), Whole(2, 4)]),
    ],
    "another kind of key": [
        ("QUOTASET kind 1 60", OK),
        ("INCREX kind", error("WRONGTYPE ")),
        ("CL.THROTTLE kind 1 1 1", error("WRONGTYPE ")),
        ("EXPIRE kind 10", error("")),
    ],
    "the connection": [
        ("PING", Simple("PONG")),
        ("PING hello", b"hello"),
        ("ECHO hello", b"hello"),
        ("SELECT 0", OK),
        ("SELECT 1", error("ERR ")),
        ("CLIENT ID", Whole(1, 10_000)),
        ("CLIENT GETNAME", None),
        ("CLIENT SETNAME me", OK),
        ("CLIENT GETNAME", b"me"),
        ("CLIENT SETINFO LIB-NAME mine", OK),
        ("CLIENT LIST", Like(r".*\bid=\d+ .*name=me\b.*")),
        ("CLIENT INFO", Like(r"id=\d+ .*name=me\b.*")),
        ("CLIENT KILL ID 999999", 0),
        ("CLIENT KILL 127.0.0.1:1", error("ERR ")),
        ("HELLO", Map({b"server": Like(".+"), b"version": Like(".+"), b"id": Whole(1, 10_000),
                       b"mode": b"standalone", b"role": b"master", b"modules": []}, at_least=True)),
        ("HELLO 4", error("NOPROTO ")),
        ("AUTH nobody", error("ERR ")),
        ("NONSENSE", Failure("ERR unknown command 'NONSENSE'")),
        ("PING a b", Failure("ERR wrong number of arguments for 'ping' command")),
        ("LIMIT NONSENSE", error("ERR unknown subcommand")),
    ],
    "the server": [
        ("COMMAND COUNT", Whole(50, 200)),
        ("COMMAND INFO take nobody", [ListOf(among=[b"take"]), None]),
        ("COMMAND LIST", ListOf(Like("[a-z.|]+"), among=[b"take", b"hold.get", b"cl.throttle"])),
        ("COMMAND DOCS take", Map({b"take": Map({b"summary": Like(".+")}, at_least=True)})),
        ("COMMAND", ListOf(ListOf())),
        ("CONFIG GET server.max_connections", Map({b"server.max_connections": b"10000"})),
        ("CONFIG GET maxclients", Map({b"maxclients": b"10000"})),  # as tools for Redis ask
        ("CONFIG GET nobody", Map({})),
        ("CONFIG SET server.log_level warning", OK),
        ("CONFIG GET server.log_level", Map({b"server.log_level": b"warning"})),
        ("CONFIG SET nobody 1", error("ERR ")),
        ("CONFIG SET server.log_level loud", error("ERR ")),
        ("CONFIG SET server.resp 127.0.0.1:1", error("ERR ")),  # at start only
        ("INFO", Like(r".*# Server\r\n.*# Clients\r\n.*# Memory\r\n.*# Stats\r\n.*")),
        ("INFO server", Like(r"# Server\r\n.*uptime_in_seconds:\d+\r\n.*")),
        ("TIME", [Like(r"\d{10}"), Like(r"\d{1,6}")]),
        ("LASTSAVE", Whole(1_600_000_000, 5_000_000_000)),
        ("SLOWLOG LEN", Whole(0, 128)),
        ("SLOWLOG RESET", OK),
        ("SLOWLOG GET", []),
    ],
}


class Commands(unittest.TestCase):
    def play(self, version):
        server = harness.Server(self)
        Map.version = version
        for name, steps in HISTORIES.items():
            client = server.resp(version=version)
            for command, wanted in steps:
                with self.subTest(history=name, command=command, version=version):
                    reply = client.line(command)
                    self.assertEqual(wanted, reply)
                    self.assertEqual(type(wanted) is Simple, type(reply) is Simple)

    def test_histories_in_resp2(self):
        self.play(2)

    def test_histories_in_resp3(self):
        self.play(3)

    def test_nothing_is_said_as_the_protocol_has_it(self):
        server = harness.Server(self)
        for version, bulk, array in ((2, b"$-1\r\n", b"*-1\r\n"), (3, b"_\r\n", b"_\r\n")):
            for command, wanted in (("GET nobody", bulk), ("CLIENT GETNAME", bulk), ("LIMIT GET nobody", array),
                                    ("HOLD.GET nobody", array), ("QUOTAGET nobody", array), ("SET n 1 XX", bulk),
                                    ("COMMAND INFO nobody", b"*1\r\n" + bulk)):
                with self.subTest(command, version=version):
                    client = server.resp(version=version)
                    client.send(harness.encode(*command.split()))
                    self.assertEqual(client.read(len(wanted)), wanted)

    def test_inline_commands_do_the_same(self):
        client = harness.Server(self).resp()
        client.send(b'LIMIT SET api STOCK 10\r\nTAKE api "al ice" COST 3\r\nUSAGE api "al\\x20ice"\nPING\n\r\n\nECHO x\r\n')
        self.assertEqual([client.reply() for _ in range(5)],
                         [OK, [1, 7, 10, 0, -1, []], [3, 0, 7, 10, -1], Simple("PONG"), b"x"])

    def test_flush_forgets_meters_and_keys_and_keeps_limits(self):
        client = harness.Server(self).resp()
        for flush in ("FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC", "FLUSHDB SYNC"):
            with self.subTest(flush):
                client.line("LIMIT SET api STOCK 10")
                client.line("TAKE api k COST 4")
                client.line("SET n 1")
                self.assertEqual(client.line(flush), OK)
                self.assertEqual(client.line("USAGE api k"), [0, 0, 10, 10, -1])
                self.assertEqual(client.line("DBSIZE"), 0)
                self.assertEqual(client.line("LIMIT LIST"), [b"api"])

    def test_keys_and_scan(self):
        client = harness.Server(self).resp()
        names = {b"key:%d" % number for number in range(1000)}
        for name in names:
            client.send(harness.encode("SET", name, 1))
        self.assertEqual({client.reply() for _ in names}, {OK})
        self.assertEqual(client.line("DBSIZE"), 1000)
        self.assertEqual(set(client.line("KEYS *")), names)
        self.assertEqual(set(client.line("KEYS key:99?")), {b"key:%d" % number for number in range(990, 1000)})
        for options, wanted in (([], names), (["MATCH", "key:1*"], {name for name in names if name.startswith(b"key:1")}),
                                (["COUNT", "7"], names), (["TYPE", "string"], names), (["TYPE", "quota"], set())):
            with self.subTest(options=options):
                cursor, found = b"0", []
                while True:
                    cursor, some = client.ask("SCAN", cursor, *options)
                    found += some
                    if cursor == b"0":
                        break
                self.assertEqual(set(found), wanted)

    def test_reset_makes_the_connection_as_new(self):
        client = harness.Server(self).resp(version=3)
        client.line("CLIENT SETNAME me")
        self.assertEqual(client.line("RESET"), Simple("RESET"))
        self.assertEqual(client.line("CLIENT GETNAME"), None)
        self.assertIsInstance(client.line("CONFIG GET maxclients"), list)  # RESP2 again

    def test_quit_answers_and_closes(self):
        client = harness.Server(self).resp()
        client.send(harness.encode("QUIT") + harness.encode("PING"))
        self.assertEqual(client.read_to_end(), b"+OK\r\n")

    def test_client_kill_closes_another_and_not_oneself(self):
        server = harness.Server(self)
        client, other = server.resp(), server.resp()
        number = other.line("CLIENT ID")
        self.assertEqual(client.line(f"CLIENT KILL ID {number}"), 1)
        self.assertEqual(other.read_to_end(), b"")
        self.assertEqual(client.line("PING"), Simple("PONG"))

    def test_client_list_tells_what_is_kept_for_a_client(self):
        server = harness.Server(self)
        other = server.resp()
        other.send(b"*2\r\n$4\r\nECHO\r\n$1000\r\n" + b"x" * 500)

        def kept():
            line = next(line for line in server.ask("CLIENT", "LIST").split(b"\n") if b"cmd=client" not in line)
            return int(re.search(rb" qbuf=(\d+) ", line)[1])

        harness.wait_until(lambda: kept() == 521, "the buffer of a request that is not complete")

    def test_a_monitor_may_be_silent(self):
        server = harness.Server(self, "--idle-timeout", "1s")
        monitor, other = server.resp(), server.resp()
        self.assertEqual(monitor.line("MONITOR"), OK)
        self.assertEqual(other.read_to_end(), b"")  # cut off, as it says nothing
        server.ask("ECHO", "x")
        self.assertIn('"ECHO" "x"', monitor.reply())

    def test_monitor_shows_what_others_ask(self):
        server = harness.Server(self)
        monitor = server.resp()
        self.assertEqual(monitor.line("MONITOR"), OK)
        server.ask("ECHO", b"line\r\nbreak\x00")
        self.assertRegex(monitor.reply(), r'^\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "ECHO" "line\\r\\nbreak\\x00"$')

    def test_shutdown_ends_the_server(self):
        server = harness.Server(self)
        client = server.resp()
        client.send(harness.encode("SHUTDOWN", "NOSAVE"))
        self.assertEqual(client.read_to_end(), b"")
        self.assertEqual(server.process.wait(harness.PATIENCE_S), 0)

    def test_saving_is_answered(self):
        # In memory there is nothing to write: a refusal that says so is as good as OK.
        client = harness.Server(self).resp()
        for command in ("SAVE", "BGSAVE"):
            with self.subTest(command):
                self.assertIsInstance(client.line(command), (Simple, Failure))

    def test_a_hold_expires(self):
        client = harness.Server(self).resp()
        client.line("LIMIT SET credits STOCK 10")
        client.line("HOLD credits k COST 4 TTL 30ms ID short")
        harness.wait_until(lambda: client.line("USAGE credits k") == [0, 0, 10, 10, -1], "the hold's expiry")
        self.assertEqual(client.line("COMMIT short").code, "EXPIRED")
        self.assertEqual(client.line("HOLDS credits k"), [])

    def test_who_ends_its_side_still_gets_its_answers(self):
        """As `cat commands | nc -N` does: those that take long, and more answers than the buffers hold."""
        server = harness.Server(self, "--output-buffer-max", "64kb")
        client = server.raw_resp()
        client.send(b"LIMIT SET api STOCK 10\r\nTAKE api k\r\nKEYS *\r\nLIMIT DEL api\r\nPING\r\n")
        client.end_sending()
        self.assertEqual(client.read_to_end(),
                         b"+OK\r\n*6\r\n:1\r\n:9\r\n:10\r\n:0\r\n:-1\r\n*0\r\n*0\r\n:1\r\n+PONG\r\n")
        client = server.raw_resp()
        sender = threading.Thread(target=lambda: (client.send(harness.encode("ECHO", "x" * 1000) * 20_000),
                                                  client.end_sending()))
        sender.start()
        harness.wait_until(lambda: b"cmd=echo" in server.ask("CLIENT", "LIST"))
        self.assertEqual(len(client.read_to_end()), 20_000 * len(b"$1000\r\n" + b"x" * 1000 + b"\r\n"))
        sender.join()

    def test_a_pipeline_is_answered_in_order(self):
        client = harness.Server(self).resp()
        client.line("LIMIT SET api STOCK 100000")
        count = 20_000
        client.send(b"".join(harness.encode("TAKE", "api", "k") for _ in range(count)))
        remaining = [client.reply()[1] for _ in range(count)]
        self.assertEqual(remaining, list(range(99_999, 99_999 - count, -1)))


if __name__ == "__main__":
    harness.main()
