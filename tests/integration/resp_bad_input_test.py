#!/usr/bin/env python3
"""Bad input on the RESP port: the right error or a closed connection, and nothing has changed."""

import unittest

import harness
from harness import Failure, Simple, encode

ALICE = ("TAKE", "api", "alice")


class BadInput(unittest.TestCase):
    """One server for all of it; after each test it must stand as before."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(cls)
        for command in ("LIMIT SET api STOCK 100", "TAKE api alice COST 7", "HOLD api alice COST 5 TTL 1h ID held",
                        "SET counter 5", "QUOTASET quota 10 3600", "INCRBY quota 3", "CL.THROTTLE throttle 5 1 3600"):
            cls.assert_allowed(cls.server.ask(*command.split()))
        cls.state = cls.read_state()

    @staticmethod
    def assert_allowed(reply):
        if isinstance(reply, Failure):
            raise AssertionError(reply)

    @classmethod
    def read_state(cls):
        with cls.server.resp() as client:
            state = {command: client.line(command) for command in (
                "USAGE api alice", "LIMIT LIST", "LIMIT GET api", "HOLDS api alice", "GET counter", "TTL counter",
                "QUOTAGET quota", "DBSIZE")}
            state["keys"] = sorted(client.line("KEYS *"))
            state["throttle"] = client.line("CL.THROTTLE throttle 5 1 3600 0")[:3]  # The rest is time, and passes.
            return state

    def tearDown(self):
        self.assertTrue(self.server.is_running())
        self.assertEqual(self.read_state(), self.state)

    # --- The protocol -------------------------------------------------------------------------------------------------

    PROTOCOL_ERRORS = {
        "more elements than a 32-bit integer": b"*2147483648\r\n",
        "a negative count": b"*-2\r\n",
        "more elements than any command has": b"*1048577\r\n",
        "a negative length": b"*1\r\n$-5\r\n",
        "the largest length": b"*1\r\n$9223372036854775807\r\n",
        "a length past 64 bits": b"*1\r\n$18446744073709551617\r\n",
        "a plus in a length": b"*1\r\n$+5\r\nhello\r\n",
        "a leading zero in a length": b"*1\r\n$05\r\nhello\r\n",
        "a space in a length": b"*1\r\n$ 5\r\nhello\r\n",
        "no length": b"*1\r\n$\r\n",
        "no count": b"*\r\n",
        "a plus in a count": b"*+1\r\n$4\r\nPING\r\n",
        "a leading zero in a count": b"*01\r\n$4\r\nPING\r\n",
        "a length that is no number": b"*1\r\n$abc\r\n",
        "a bulk without CRLF": b"*1\r\n$4\r\nPINGxx",
        "a bulk that is longer than it says": b"*1\r\n$4\r\nPINGS\r\n",
        "a bare LF behind the count": b"*1\n$4\r\nPING\r\n",
        "a bare LF behind the length": b"*1\r\n$4\nPING\r\n",
        "a bare LF behind the bulk": b"*1\r\n$4\r\nPING\n\r",
        "no dollar": b"*1\r\n:4\r\n",
        "a NUL byte in a length": b"*1\r\n$4\x00\r\nPING\r\n",
        "a nested aggregate": b"*1\r\n*1\r\n$4\r\nPING\r\n",
        "RESP3 aggregates, 10^5 deep": b"*1\r\n" * 100_000,
        "RESP3 maps, 10^5 deep": b"*1\r\n" + b"%1\r\n" * 100_000,
        "an inline line of 64 KiB without an end": b"x" * 65_536,
        "quotes without an end": b'TAKE api "alice\r\n',
        "text behind quotes": b'TAKE api "alice"x\r\n',
    }

    def test_protocol_errors_are_told_and_close(self):
        for what, data in self.PROTOCOL_ERRORS.items():
            with self.subTest(what), self.server.raw_resp() as client:
                client.send_if_open(data)
                reply = client.read_to_end()
                self.assertRegex(reply, rb"\A-ERR Protocol error: [^\r\n]+\r\n\Z")

    def test_what_comes_before_an_error_is_answered_and_what_comes_behind_is_not(self):
        client = self.server.raw_resp()
        client.send(encode("PING") + b"*-2\r\n" + encode(*ALICE))
        self.assertRegex(client.read_to_end(), rb"\A\+PONG\r\n-ERR Protocol error: [^\r\n]+\r\n\Z")

    def test_a_long_inline_line_with_an_end_is_refused_too(self):
        client = self.server.raw_resp()
        client.send_if_open(b"ECHO " + b"x" * 100_000 + b"\r\n")
        self.assertTrue(client.read_to_end().startswith(b"-ERR Protocol error: "))

    def test_an_argument_or_command_over_its_limit_closes(self):
        server = harness.Server(self, "--bulk-max", "64kb", "--query-buffer-max", "1mb", "--arguments-max", "4096")
        self.assertEqual(server.ask("ECHO", b"x" * 65_536), b"x" * 65_536)
        for what, data in {"an argument": encode("ECHO", b"x" * 70_000),
                           "all arguments": encode("ECHO", *[b"x" * 60_000] * 30),
                           "too many arguments": encode("ECHO", *["x"] * 5000)}.items():
            with self.subTest(what), server.raw_resp() as client:
                client.send_if_open(data)
                self.assertRegex(client.read_to_end(), rb"\A(-ERR Protocol error: [^\r\n]+\r\n)?\Z")

    def test_http_is_cut_off_without_a_word(self):
        for data in (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n" + b"TAKE api alice\r\n",
                     b"Host: localhost:6380\r\nTAKE api alice\r\n", b"host: x\r\nTAKE api alice\r\n"):
            with self.subTest(data), self.server.raw_resp() as client:
                client.send(data)
                self.assertEqual(client.read_to_end(), b"")
        client = self.server.raw_resp()  # A header line comes first here; the Host line behind it closes.
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\nTAKE api alice\r\n")
        self.assertRegex(client.read_to_end(), rb"\A-ERR [^\r\n]+\r\n\Z")

    def test_a_request_split_at_every_byte(self):
        request = encode("ECHO", b"a\r\nb\x00c")
        with self.server.raw_resp() as client:
            for position in range(1, len(request)):
                client.send(request[:position])
                client.send(request[position:])
                self.assertEqual(client.read(12), b"$6\r\na\r\nb\x00c\r\n", position)

    def test_one_byte_at_a_time(self):
        with self.server.resp() as client:
            for request in (encode("PEEK", "api", "alice"), b'PEEK  api\t"alice"\r\n'):
                for byte in request:
                    client.send(bytes([byte]))
                self.assertEqual(client.reply(), [1, 87, 100, 0, -1, []])

    def test_null_bytes_are_data_in_an_argument(self):
        with self.server.resp() as client:
            self.assertEqual(client.ask("ECHO", b"\x00\r\n\x00"), b"\x00\r\n\x00")
            self.assertEqual(client.ask("PEEK", "api", b"\x00")[:3], [1, 99, 100])
            self.assertEqual(client.ask("PEEK", b"a\x00pi", "alice").code, "NOLIMIT")
            self.assertRegex(client.ask(b"PI\x00NG"), r"^ERR unknown command '[ -~]+'$")

    def test_null_bytes_inline(self):
        for data in (b"\x00\r\n", b"\x00" * 1000 + b"\r\n", b"PING\x00\r\n"):
            with self.subTest(data), self.server.raw_resp() as client:
                client.send(data + b"QUIT\r\n")
                self.assertTrue(client.read_to_end().startswith(b"-ERR "))

    def test_errors_never_break_the_reply(self):
        """Whatever a name contains, an error is one line."""
        with self.server.resp() as client:
            for word in (b"a\r\n+OK", b"\n", b"\xff\xfe", b"'", b'"', b"\x1b[31m", b"x" * 60_000):
                with self.subTest(word[:20]):
                    self.assertIsInstance(client.ask(word), Failure)
                    self.assertIsInstance(client.ask("LIMIT", word), Failure)
                    self.assertIsInstance(client.ask("TAKE", word, "k"), Failure)
                    self.assertIsInstance(client.ask("TAKE", "api", "k", "COST", word), Failure)
                    self.assertIsInstance(client.ask("COMMIT", word), Failure)
                    self.assertIsInstance(client.ask("CONFIG", "SET", word, "1"), Failure)
                    self.assertEqual(client.ask("PING"), Simple("PONG"))

    def test_an_empty_array_is_nothing(self):
        with self.server.resp() as client:
            client.send(b"*0\r\n*-1\r\n\r\n" + encode("PING"))
            self.assertEqual(client.reply(), Simple("PONG"))

    def test_hello_4(self):
        with self.server.resp() as client:
            for version in ("4", "1", "0", "-1"):
                self.assertEqual(client.ask("HELLO", version).code, "NOPROTO")
            self.assertEqual(client.ask("HELLO", "three").code, "ERR")
            self.assertEqual(client.ask("HELLO", "3", "SETNAME").code, "ERR")
            self.assertEqual(client.ask("HELLO", "3", "NONSENSE").code, "ERR")
            self.assertIsInstance(client.ask("CONFIG", "GET", "maxclients"), list)  # still RESP2

    # --- Commands -----------------------------------------------------------------------------------------------------

    ERRORS = {
        # command: how its error begins
        "QUOTASET k 1 0": "ERR ",
        "QUOTASET k 0 1": "ERR ",
        "QUOTASET k -1 1": "ERR ",
        "QUOTASET k x 1": "ERR value is not an integer",
        "QUOTAINCR quota 10 3600 18446744073709551615": "ERR value is not an integer",
        "QUOTAINCR quota 18446744073709551615 3600": "ERR value is not an integer",
        "QUOTAINCR k 10 18446744073709551615": "ERR value is not an integer",
        "QUOTAINCR quota 10 3600 -1": "ERR ",
        "QUOTAINCR quota 10 3600 9223372036854775807": "",  # past what a cost can be
        "QUOTAINCR counter 10 3600": "WRONGTYPE ",
        "INCRBY counter 9223372036854775803": "ERR increment or decrement would overflow",
        "DECRBY counter -9223372036854775803": "ERR increment or decrement would overflow",
        "DECRBY counter -9223372036854775808": "ERR ",
        "INCRBY counter 9223372036854775808": "ERR value is not an integer",
        "INCRBY counter +1": "ERR value is not an integer",
        "INCRBY counter 01": "ERR value is not an integer",
        "INCRBY counter 0x1": "ERR value is not an integer",
        "INCRBY quota -1": "ERR ",
        "SET k text": "ERR value is not an integer or out of range",
        "SET counter text": "ERR value is not an integer or out of range",
        "SET counter 9223372036854775808": "ERR value is not an integer or out of range",
        "SET counter 1 EX 0": "ERR ",
        "SET counter 1 EX -1": "ERR ",
        "SET counter 1 PX x": "ERR value is not an integer",
        "SET counter 1 EX 10 PX 10": "ERR syntax error",
        "SET counter 1 NX XX": "ERR syntax error",
        "SET counter 1 EX": "ERR syntax error",
        "SET counter 1 EX 9223372036854775807": "ERR ",
        "EXPIRE quota 10": "",
        "PEXPIRE quota 10": "",
        "EXPIREAT quota 4102444800": "",
        "EXPIRE counter 9223372036854775807": "ERR ",
        "DECR quota": "",
        "DECRBY quota 1": "",
        "INCREX counter BYINT x": "ERR value is not an integer",
        "INCREX counter BYFLOAT 1.5": "ERR ",
        "INCREX counter LBOUND 5 UBOUND 4": "ERR ",
        "INCREX counter EX 0": "ERR ",
        "INCREX counter ENX": "ERR ",
        "INCREX quota": "WRONGTYPE ",
        "CL.THROTTLE throttle -1 1 1": "ERR ",
        "CL.THROTTLE throttle 5 0 1": "ERR ",
        "CL.THROTTLE throttle 5 1 0": "ERR ",
        "CL.THROTTLE throttle 5 1 3600 -1": "ERR ",
        "CL.THROTTLE throttle 9223372036854775807 1 1": "ERR ",
        "CL.THROTTLE counter 5 1 3600": "WRONGTYPE ",
        "THROTTLE throttle 0 1 1": "ERR ",
        "GCRA throttle 5 1 0": "ERR ",
        "GCRA throttle 5 1 1e3": "ERR ",
        "GCRA throttle 5 1 -1": "ERR ",
        "GCRA throttle 5 1 nan": "ERR ",
        "TAKE nobody alice": "NOLIMIT unknown limit 'nobody'",
        "TAKE api alice AND nobody alice": "NOLIMIT unknown limit 'nobody'",
        "HOLD nobody alice TTL 1m": "NOLIMIT unknown limit 'nobody'",
        "TAKE api alice COST -1": "ERR ",
        "TAKE api alice COST 9007199254740992": "ERR ",
        "TAKE api alice COST 9223372036854775808": "ERR value is not an integer",
        "TAKE api alice COST 1 COST 1": "ERR syntax error",
        "TAKE api alice AND": "ERR syntax error",
        "TAKE api alice UPTO AND api bob": "ERR ",
        "TAKE api alice ID": "ERR syntax error",
        "TAKE api alice WAIT -1s": "ERR ",
        "TAKE api alice WAIT 1y": "ERR ",
        "TAKE api alice ID held": "MISMATCH",  # the id of a hold
        "GIVE api alice ID held": "MISMATCH",
        "GIVE api alice COST -1": "ERR ",
        "HOLD api alice TTL 0": "ERR ",
        "HOLD api alice TTL 1x": "ERR ",
        "HOLD api alice COST 0 TTL 1m": "ERR ",
        "HOLD api alice COST 6 TTL 1h ID held": "MISMATCH",
        "COMMIT held -1": "ERR ",
        "COMMIT held 1 2": "ERR ",
        "COMMIT held 6": "EXCEEDS",
        "COMMIT held x": "ERR value is not an integer",
        "EXTEND held": "ERR ",
        "EXTEND held TTL 0": "ERR ",
        "EXTEND held TTL 99999999999d": "ERR ",
        "RECONCILE api alice -1": "ERR ",
        "RECONCILE api alice x": "ERR value is not an integer",
        "RECONCILE nobody alice 1": "NOLIMIT",
        "HOLDS api alice COUNT 0": "ERR ",
        "LIMIT OVERRIDE api alice 0": "ERR ",
        "LIMIT OVERRIDE api alice x": "ERR value is not an integer",
        "LIMIT OVERRIDE api alice 9007199254740992": "ERR ",
        "SCAN x": "ERR invalid cursor",
        "SCAN 0 COUNT 0": "ERR ",
        "SELECT 1": "ERR ",
        "EVAL return 0": "ERR unknown command 'EVAL'",
        "LIMIT": "ERR wrong number of arguments for 'limit' command",
        "LIMIT FROB x": "ERR unknown subcommand",
    }

    # LIMIT SET with every option wrong in turn.
    BAD_LIMITS = (
        "", "BUCKET", "BUCKET 10", "BUCKET 10 PER", "BUCKET x PER 1m", "BUCKET 0 PER 1m", "BUCKET -1 PER 1m",
        "BUCKET 9007199254740992 PER 1m", "BUCKET 10 PER 0", "BUCKET 10 PER 1x", "BUCKET 10 PER -1s",
        "BUCKET 10 PER 1.5s", "BUCKET 10 PER 4000d", "BUCKET 10 PER MONTH", "BUCKET 10 PER 1m BURST",
        "BUCKET 10 PER 1m BURST 0", "BUCKET 10 PER 1m BURST x", "BUCKET 10 PER 1m ZONE UTC",
        "BUCKET 10 PER 1m ANCHOR 1", "BUCKET 10 PER 1m PER 1m", "BUCKET 10 WINDOW 10 PER 1m", "BUCKET 10 PER 1m extra",
        "WINDOW 10", "WINDOW 0 PER 1m", "WINDOW 10 PER 1m BURST 5", "WINDOW 10 PER DAY", "SLIDING 10",
        "SLIDING 10 PER 1m BURST 5", "SLIDING 10 PER 1m ZONE UTC", "CALENDAR 10", "CALENDAR 10 PER 1m",
        "CALENDAR 10 PER FORTNIGHT", "CALENDAR 10 PER DAY ZONE Mars/Olympus", "CALENDAR 10 PER DAY ZONE ../../etc/passwd",
        "CALENDAR 10 PER DAY ZONE", "CALENDAR 10 PER DAY ANCHOR 5", "CALENDAR 10 PER WEEK ANCHOR 8",
        "CALENDAR 10 PER WEEK ANCHOR 0", "CALENDAR 10 PER MONTH ANCHOR 32", "CALENDAR 10 PER MONTH ANCHOR x",
        "CALENDAR 10 PER YEAR ANCHOR 1332", "CALENDAR 10 PER MONTH BURST 5", "STOCK", "STOCK 0", "STOCK x",
        "STOCK 10 PER 1m", "STOCK 10 BURST 5", "STOCK 10 ZONE UTC", "STOCK 10 DURABLE", "STOCK 10 DURABLE sometimes",
        "STOCK 10 ONFAIL", "STOCK 10 ONFAIL ajar", "STOCK 10 SHADOW SHADOW", "STOCK 10 SHADOW yes", "STOCK 10 SCOPE",
        "STOCK 10 SCOPE galaxy", "TURTLE 10 PER 1m")

    def test_errors_of_commands(self):
        client = self.server.resp()
        for command, start in self.ERRORS.items():
            with self.subTest(command):
                reply = client.line(command)
                self.assertIsInstance(reply, Failure)
                self.assertTrue(reply.startswith(start), reply)

    def test_limits_that_are_wrong(self):
        client = self.server.resp()
        for options in self.BAD_LIMITS:
            for name in ("api", "fresh"):
                with self.subTest(options, name=name):
                    reply = client.line(f"LIMIT SET {name} {options}")
                    self.assertIsInstance(reply, Failure)
                    self.assertTrue(reply.startswith("ERR "), reply)

    def test_names_and_keys_that_are_wrong(self):
        client = self.server.resp()
        for words in (["LIMIT", "SET", "", "STOCK", "1"], ["LIMIT", "SET", "x" * 129, "STOCK", "1"],
                      ["LIMIT", "SET", b"a\nb", "STOCK", "1"], ["TAKE", "api", ""], ["TAKE", "api", "x" * 513],
                      ["TAKE", "api", "alice", "ID", ""], ["TAKE", "api", "alice", "ID", "x" * 10_000],
                      ["HOLD", "api", "alice", "TTL", "1m", "TAG", "x" * 10_000], ["SET", "", "1"],
                      ["SET", "x" * 10_000, "1"], ["QUOTASET", "", "1", "1"], ["CLIENT", "SETNAME", "a b"],
                      ["TAKE", "api", "0", *[word for key in range(1, 17) for word in ("AND", "api", str(key))]]):
            with self.subTest([word[:20] for word in words]):
                self.assertIsInstance(client.ask(*words), Failure)

    def test_the_same_id_for_a_take_and_a_hold(self):
        """An id belongs to the first operation that carries it."""
        client = harness.Server(self).resp()
        client.line("LIMIT SET api STOCK 10")
        self.assertEqual(client.line("TAKE api k ID first")[0], 1)
        self.assertEqual(client.line("HOLD api k TTL 1m ID first").code, "MISMATCH")
        self.assertEqual(client.line("HOLD api k TTL 1m ID second")[0], 1)
        self.assertEqual(client.line("TAKE api k ID second").code, "MISMATCH")
        self.assertEqual(client.line("USAGE api k"), [1, 1, 8, 10, -1])

    # --- Clients that ask too much ------------------------------------------------------------------------------------

    def test_ten_to_the_fifth_commands_whose_replies_are_never_read(self):
        client = self.server.raw_resp()
        client.socket.settimeout(2)
        try:
            client.send(encode("PEEK", "api", "alice") * 100_000)
        except (TimeoutError, ConnectionError):
            pass  # The server has stopped reading, or closed: either will do.
        self.assertEqual(self.server.ask("PING"), Simple("PONG"))
        self.assertLess(self.server.resident_bytes(), 150 << 20)
        client.close()


class BeforeAuthentication(unittest.TestCase):
    """Who has not said a password gets no memory: at most 10 arguments of 4 KiB, and 8 KiB in all."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(cls, "--password", "secret")

    def test_what_is_just_allowed(self):
        client = self.server.resp()
        self.assertEqual(client.ask("ECHO", *["x"] * 9).code, "NOAUTH")
        self.assertEqual(client.ask("ECHO", "x" * 4096).code, "NOAUTH")
        self.assertEqual(client.ask("NONSENSE").code, "NOAUTH")
        self.assertEqual(client.ask("PING").code, "NOAUTH")

    def test_what_is_too_much(self):
        for what, data in {"arguments": encode("ECHO", *["x"] * 10), "bytes": encode("ECHO", "x" * 4097),
                           "count alone": b"*11\r\n", "length alone": b"*1\r\n$4097\r\n",
                           "a line": b"ECHO " + b"x" * 16_385,
                           "in all": encode("ECHO", *["x" * 4000] * 9)}.items():
            with self.subTest(what), self.server.raw_resp() as client:
                client.send_if_open(data)
                self.assertRegex(client.read_to_end(), rb"\A-ERR Protocol error: [^\r\n]+\r\n\Z")

    def test_a_password_lifts_it(self):
        client = self.server.resp(password="secret")
        self.assertEqual(client.ask("ECHO", "x" * 60_000), b"x" * 60_000)
        self.assertEqual(client.line("RESET"), Simple("RESET"))
        client.send_if_open(encode("ECHO", "x" * 60_000))  # and RESET brings it back
        self.assertTrue(client.read_to_end().startswith(b"-ERR Protocol error: "))


if __name__ == "__main__":
    harness.main()
