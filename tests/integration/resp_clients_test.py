#!/usr/bin/env python3
"""Redis's own tools and the client libraries of Python and Node.js, unchanged, against Mete."""

import os
import pty
import re
import select
import subprocess
import tempfile
import unittest
from pathlib import Path

import redis

import harness
import node_modules


class Tools(unittest.TestCase):
    def setUp(self):
        harness.require("redis-cli", "redis-benchmark")
        self.server = harness.Server(self)
        self.client = self.server.resp()
        self.client.line("LIMIT SET api STOCK 1000000")

    def cli(self, *words, input=None, check=True):
        return harness.run("redis-cli", "-p", str(self.server.resp_port), *words, input=input, check=check).stdout

    def test_a_command(self):
        self.assertEqual(self.cli("TAKE", "api", "k").split(), ["1", "999999", "1000000", "0", "-1"])
        self.assertEqual(self.cli("--no-raw", "TAKE", "api", "k"),
                         "1) (integer) 1\n2) (integer) 999998\n3) (integer) 1000000\n4) (integer) 0\n"
                         "5) (integer) -1\n6) (empty array)\n")
        self.assertEqual(self.cli("TAKE", "nobody", "k").strip(), "NOLIMIT unknown limit 'nobody'")
        self.assertEqual(self.cli("-e", "TAKE", "nobody", "k", check=False), "")  # -e: errors to standard error

    def test_resp3_has_maps(self):
        self.assertEqual(self.cli("-3", "--no-raw", "LIMIT", "GET", "api"),
                         '1# "name" => "api"\n2# "kind" => "stock"\n3# "amount" => (integer) 1000000\n')

    def test_commands_from_standard_input(self):
        output = self.cli(input='PING\nTAKE api "two words" COST 2\nECHO "a\\x41"\nQUIT\n')
        self.assertEqual(output.split("\n"), ["PONG", "1", "999998", "1000000", "0", "-1", "", "aA", ""])

    def test_help(self):
        """As redis-cli makes it of COMMAND DOCS."""
        for words, lines in ((("limit", "set"), ["LIMIT SET name BUCKET amount|WINDOW amount|SLIDING amount|CALENDAR amount|"
                                                 "STOCK amount [PER "]),
                             (("take",), ["[ID op] [FORCE|UPTO] [WAIT duration]"]),
                             (("set",), ["PXAT unix-milliseconds|KEEPTTL] [NX|XX] [GET]"]),
                             (("holds",), ["HOLDS limit key [COUNT n]", "HOLDS TAG text"])):
            with self.subTest(words):
                text = re.sub(r"\x1b\[[0-9;]*m", "", self.cli("help", *words))
                for line in lines:
                    self.assertIn(line, text)

    def test_a_terminal(self):
        """Interactive: it asks for the commands first, for its hints."""
        master, slave = pty.openpty()
        process = subprocess.Popen(["redis-cli", "-p", str(self.server.resp_port)], stdin=slave, stdout=slave,
                                   stderr=slave, env={**os.environ, "TERM": "dumb", "HOME": tempfile.gettempdir()})
        os.close(slave)
        text = b""
        for command, answer in ((b"TAKE api k\r", b"(integer) 999999"), (b"HOLD.GET nobody\r", b"(nil)"),
                                (b"help TAKE\r", b"summary:")):
            os.write(master, command)
            while answer not in text:
                self.assertTrue(select.select([master], [], [], harness.PATIENCE_S)[0], text)
                text += os.read(master, 4096)
        os.write(master, b"exit\r")
        process.wait(harness.PATIENCE_S)
        os.close(master)

    def test_pipe(self):
        commands = b"".join(harness.encode("TAKE", "api", f"key:{number % 100}") for number in range(20_000))
        with tempfile.TemporaryFile() as file:
            file.write(commands)
            file.seek(0)
            output = subprocess.run(["redis-cli", "-p", str(self.server.resp_port), "--pipe"], stdin=file,
                                    capture_output=True, text=True, check=True, timeout=harness.PATIENCE_S).stdout
        self.assertIn("errors: 0, replies: 20000", output)
        self.assertEqual(self.client.line("USAGE api key:7")[0], 200)

    def test_latency(self):
        """Without a terminal it asks for a second, and tells: minimum, maximum, average, how often."""
        numbers = [float(word) for word in self.cli("--latency").split()]
        self.assertEqual(len(numbers), 4)
        self.assertGreater(numbers[3], 10)

    def test_other_modes(self):
        self.client.line("SET counter 5")
        self.assertIn("counter", self.cli("--scan"))
        self.assertIn("counter", self.cli("--scan", "--pattern", "c*"))
        self.assertEqual(self.cli("-r", "3", "INCR", "counter").split(), ["6", "7", "8"])
        self.assertIn("redis_version", self.cli("INFO"))
        self.assertEqual(self.cli("-n", "0", "PING"), "PONG\n")

    def test_benchmark(self):
        # Not its SET: that writes letters, and counters are numbers.
        for words in (["-t", "ping,get,incr"], ["TAKE", "api", "key:__rand_int__"],
                      ["CL.THROTTLE", "key:__rand_int__", "10", "10", "60"]):
            for pipeline in ("1", "16"):
                with self.subTest(words=words, pipeline=pipeline):
                    result = harness.run("redis-benchmark", "-p", str(self.server.resp_port), "-n", "5000", "-c", "10",
                                         "-r", "1000", "-q", "-P", pipeline, *words)
                    self.assertIn("requests per second", result.stdout)
                    self.assertNotIn("rror", result.stdout + result.stderr)
        self.assertGreaterEqual(self.allowed(), 10_000)

    def allowed(self):
        return int(re.search(rb"decisions_allowed:(\d+)", self.client.line("INFO stats"))[1])


class Python(unittest.TestCase):
    """Debian's python3-redis."""

    def setUp(self):
        self.server = harness.Server(self)
        self.redis = redis.Redis(port=self.server.resp_port, client_name="tests")
        self.addCleanup(self.redis.close)
        self.execute = self.redis.execute_command
        self.execute("LIMIT SET", "api", "STOCK", 100)

    def test_commands(self):
        self.assertTrue(self.redis.ping())
        self.assertEqual(self.execute("TAKE", "api", "k", "COST", 4), [1, 96, 100, 0, -1, []])
        held, hold, *_ = self.execute("HOLD", "api", "k", "COST", 10, "TTL", "1m")
        self.assertEqual((held, len(hold)), (1, 32))
        self.assertEqual(self.execute("COMMIT", hold, 7), [7, 89, 100])
        self.assertEqual(self.execute("USAGE", "api", "k"), [11, 0, 89, 100, -1])
        self.assertEqual(self.execute("CL.THROTTLE", "t", 10, 10, 60)[:3], [0, 11, 10])
        self.assertIsNone(self.execute("LIMIT GET", "nobody"))

    def test_errors_are_exceptions(self):
        for command, words in ((("TAKE", "nobody", "k"), "unknown limit 'nobody'"), (("NONSENSE",), "unknown command"),
                               (("INCRBY", "n", "x"), "not an integer"), (("TAKE", "api"), "wrong number of arguments")):
            with self.subTest(command), self.assertRaisesRegex(redis.ResponseError, words):
                self.execute(*command)
        self.assertTrue(self.redis.ping())

    def test_pipeline(self):
        with self.redis.pipeline(transaction=False) as pipeline:
            for _ in range(1000):
                pipeline.execute_command("TAKE", "api", "k")
            pipeline.execute_command("TAKE", "nobody", "k")
            answers = pipeline.execute(raise_on_error=False)
        self.assertEqual([answer[0] for answer in answers[:1000]], [1] * 100 + [0] * 900)
        self.assertIsInstance(answers[1000], redis.ResponseError)

    def test_a_transaction_changes_nothing(self):
        with self.redis.pipeline(transaction=True) as pipeline:
            pipeline.incr("n").expire("n", 100)
            with self.assertRaisesRegex(redis.ResponseError, "MULTI is not supported: use INCREX"):
                pipeline.execute()
        self.assertIsNone(self.redis.get("n"))
        self.assertEqual(self.redis.incr("n"), 1)

    def test_counters(self):
        self.assertTrue(self.redis.set("n", 5, ex=100))
        self.assertEqual(self.redis.get("n"), b"5")
        self.assertEqual((self.redis.incr("n"), self.redis.incrby("n", 4), self.redis.decr("n")), (6, 10, 9))
        self.assertTrue(0 < self.redis.ttl("n") <= 100)
        self.assertEqual(self.redis.mget("n", "nobody"), [b"9", None])
        self.assertEqual((self.redis.exists("n"), self.redis.type("n"), self.redis.delete("n")), (1, b"string", 1))
        self.assertIsNone(self.redis.set("n", 5, xx=True))

    def test_scan(self):
        names = {b"key:%d" % number for number in range(500)}
        for name in names:
            self.redis.set(name, 1)
        self.assertEqual(set(self.redis.scan_iter()), names)
        self.assertEqual(set(self.redis.scan_iter(match="key:1?")), {b"key:%d" % number for number in range(10, 20)})
        self.assertEqual(set(self.redis.keys("key:*")), names)
        self.assertEqual(self.redis.dbsize(), 500)

    def test_the_connection(self):
        self.assertEqual(self.redis.client_getname(), "tests")
        self.assertTrue(self.redis.client_setname("another"))
        self.assertIn("another", [client["name"] for client in self.redis.client_list()])
        self.assertEqual(self.redis.client_info()["name"], "another")
        self.assertEqual(self.redis.info()["redis_mode"], "standalone")
        self.assertEqual(self.redis.config_get("maxclients"), {"maxclients": "10000"})
        self.assertEqual(self.redis.command_count(), len(self.redis.command_list()))
        self.assertEqual(len(self.redis.time()), 2)
        self.assertTrue(self.redis.flushall())

    def test_a_pool_and_decoding(self):
        pool = redis.ConnectionPool(port=self.server.resp_port, max_connections=4, decode_responses=True)
        self.addCleanup(pool.disconnect)
        clients = [redis.Redis(connection_pool=pool) for _ in range(8)]
        self.assertEqual([client.execute_command("ECHO", "höflich") for client in clients], ["höflich"] * 8)
        self.assertEqual(clients[0].execute_command("LIMIT LIST"), ["api"])

    def test_a_lost_connection_is_made_anew(self):
        client = self.redis.client_id()
        self.assertEqual(self.server.ask("CLIENT", "KILL", "ID", client), 1)
        # The client notices a connection that is closed, not one that is about to be.
        harness.wait_until(lambda: not self.server.ask("CLIENT", "LIST", "ID", client), "the connection's end")
        self.assertTrue(self.redis.ping())

    def test_a_password(self):
        server = harness.Server(self, "--password", "secret")
        with redis.Redis(port=server.resp_port, password="secret") as right:
            self.assertTrue(right.ping())
        with redis.Redis(port=server.resp_port, username="default", password="secret") as right:
            self.assertTrue(right.ping())
        with redis.Redis(port=server.resp_port, password="wrong") as wrong:
            with self.assertRaisesRegex(redis.RedisError, "WRONGPASS"):
                wrong.ping()
        with redis.Redis(port=server.resp_port) as none, self.assertRaises(redis.AuthenticationError):
            none.ping()


class Node(unittest.TestCase):
    """ioredis and node-redis from npm, as package-lock.json has them."""

    @classmethod
    def setUpClass(cls):
        cls.modules = node_modules.install()

    def run_script(self, name):
        server = harness.Server(self)
        result = harness.run("node", str(node_modules.LOCKED / name), str(server.resp_port), check=False,
                             environment={**os.environ, "NODE_PATH": str(self.modules)})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("all is well", result.stdout)

    def test_ioredis(self):
        self.run_script("ioredis_client.js")

    def test_node_redis(self):
        self.run_script("node_redis_client.js")


if __name__ == "__main__":
    harness.main()
