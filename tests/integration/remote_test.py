#!/usr/bin/env python3
"""Mete servers in front of Mete servers: `mete serve --store mete://…`, as it is used."""

import signal
import unittest

import harness
import redis_server
from harness import Simple


def back(test, *flags, port=0, data=""):
    """A server that keeps limits."""
    return harness.Server(test, "--resp", f"127.0.0.1:{port}", "--http", "off", "--data", data, *flags, listen=False)


def front(test, url, *flags):
    """A server whose store is another one."""
    return harness.Server(test, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", url, *flags, listen=False)


def address(*servers):
    return ",".join(f"127.0.0.1:{server.resp_port}" for server in servers)


class Remote(unittest.TestCase):
    def setUp(self):
        self.folder = harness.Folder(self)

    def test_two_in_front_share_what_one_keeps(self):
        keeper = back(self)
        one, other = (front(self, f"mete://{address(keeper)}?timeout=10s").resp() for _ in range(2))
        self.assertEqual(one.line("LIMIT SET credits STOCK 10"), Simple("OK"))
        self.assertEqual(other.line("TAKE credits alice COST 3"), [1, 7, 10, 0, -1, []])
        self.assertEqual(one.line("HOLD credits alice COST 4 TTL 1h ID job")[:4], [1, b"job", 3, 10])
        self.assertEqual(other.line("TAKE credits alice COST 4")[:3], [0, 3, 10])
        self.assertEqual(other.line("COMMIT job 1"), [1, 6, 10])
        self.assertEqual(one.line("COMMIT job 1"), [1, 6, 10])
        self.assertEqual(one.line("COMMIT job").code, "MISMATCH")
        self.assertEqual(keeper.ask("USAGE", "credits", "alice"), [4, 0, 6, 10, -1])
        self.assertEqual(other.line("TAKE nothing alice"), "NOLIMIT unknown limit 'nothing'")
        self.assertEqual((one.line("INCR hits"), other.line("INCR hits")), (1, 2))

    def test_a_chain_of_three_is_exact(self):
        keeper = back(self)
        middle = front(self, f"mete://{address(keeper)}?timeout=10s")
        client = front(self, f"mete://{address(middle)}?timeout=10s").resp()
        self.assertEqual(client.line("LIMIT SET api WINDOW 5 PER 1h"), Simple("OK"))
        self.assertEqual([client.line("TAKE api k")[0] for _ in range(6)], [1, 1, 1, 1, 1, 0])
        hold = client.line("HOLD api other TTL 1h")
        self.assertEqual(client.line(f"CANCEL {hold[1].decode()}"), [1, 5, 5])
        self.assertEqual(keeper.ask("USAGE", "api", "k")[:2], [5, 0])

    def test_operators_see_how_it_is(self):
        keeper = back(self)
        server = front(self, f"mete://{address(keeper)}?timeout=10s")
        information = server.ask("INFO", "store").decode()
        for line in ("store_shape:mete", f"store_nodes:{address(keeper)}", "store_reachable:1"):
            self.assertIn(line, information)
        metrics = harness.ask_http(server.http(), "GET", "/metrics").body.decode()
        self.assertIn("\nmete_store_reachable 1\n", metrics)
        self.assertEqual(server.ask("LIMIT", "SET", "credits", "STOCK", "10"), Simple("OK"))
        for asked in (server, keeper):
            self.assertIn("\r\nlimits:1\r\n", asked.ask("INFO", "store").decode(), "and none that Mete keeps for itself")
        keeper.kill()
        self.assertNotIn("limits", server.ask("INFO", "store").decode().replace("limits_retired", ""), "nobody knows")
        self.assertNotIn(b"\nmete_limits ", harness.ask_http(server.http(), "GET", "/metrics").body)

    def test_a_killed_server_is_missed_and_comes_back_with_all_it_acknowledged(self):
        keeper = back(self, data=self.folder / "data")
        server = front(self, f"mete://{address(keeper)}?timeout=10s")
        client = server.resp()
        self.assertEqual(client.line("LIMIT SET credits STOCK 10"), Simple("OK"))
        self.assertEqual(client.line("TAKE credits alice COST 4")[0], 1)
        keeper.signal(signal.SIGKILL)
        keeper.process.wait()
        self.assertEqual(client.line("TAKE credits alice").code, "UNAVAILABLE")
        self.assertEqual(harness.ask_http(server.http(), "GET", "/readyz").status, 503)
        back(self, port=keeper.resp_port, data=self.folder / "data")
        harness.wait_until(lambda: client.line("PEEK credits alice") == [1, 5, 10, 0, -1, []])
        self.assertEqual(harness.ask_http(server.http(), "GET", "/readyz").status, 200)

    def test_of_several_servers_only_the_keys_of_one_that_is_away_are_missed(self):
        keepers = [back(self) for _ in range(3)]
        client = front(self, f"mete://{address(*keepers)}?timeout=10s").resp()
        self.assertEqual(client.line("LIMIT SET credits STOCK 10"), Simple("OK"))
        keys = [f"k{number}" for number in range(60)]
        for key in keys:
            self.assertEqual(client.ask("TAKE", "credits", key)[0], 1)
        homes = {key: [number for number, keeper in enumerate(keepers) if keeper.ask("USAGE", "credits", key)[0] == 1]
                 for key in keys}
        self.assertEqual({len(home) for home in homes.values()}, {1})
        keepers[1].signal(signal.SIGKILL)
        keepers[1].process.wait()
        for key in keys:
            answer = client.ask("TAKE", "credits", key)
            self.assertEqual(getattr(answer, "code", "answered"), "UNAVAILABLE" if homes[key] == [1] else "answered", key)
        apart = next(key for key in keys if homes[key] != homes[keys[0]])
        refusal = client.ask("HOLD", "credits", keys[0], "AND", "credits", apart, "TTL", "1m")
        self.assertRegex(refusal, "^ERR the keys .* are at different servers.*braces")

    def test_over_tls_and_with_a_password_that_nobody_gets_to_see(self):
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        harness.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                    "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
        keeper = back(self, "--tls-cert", certificate, "--tls-key", key, "--password", "hunter2")
        url = f"metes://:hunter2@{address(keeper)}?timeout=10s&ca={certificate}"
        server = front(self, url)
        self.assertEqual(server.ask("LIMIT", "SET", "credits", "STOCK", "10"), Simple("OK"))
        self.assertEqual(server.ask("TAKE", "credits", "alice")[:2], [1, 9])
        shown = server.banner + server.log() + server.ask("INFO").decode()
        self.assertNotIn("hunter2", shown)
        self.assertIn("metes://", shown)

    def refused(self, *flags):
        result = harness.run(harness.program, "serve", "--http", "off", *flags, check=False)
        self.assertNotEqual(result.returncode, 0)
        return result.stderr

    def test_starts_that_cannot_be_right_say_why(self):
        port = harness.free_port()
        self.assertIn("is where this server itself listens",
                      self.refused("--resp", f"127.0.0.1:{port}", "--store", f"mete://localhost:{port}"))
        self.assertIn(f"cannot connect to localhost:{port}",
                      self.refused("--resp", "127.0.0.1:0", "--store", f"mete://localhost:{port}"))
        keeper = back(self, "--password", "hunter2")
        self.assertIn("put its password into the URL",
                      self.refused("--resp", "127.0.0.1:0", "--store", f"mete://{address(keeper)}?timeout=10s"))


class RetiredLimits(unittest.TestCase):
    """A limit that has left the file of a server whose store other servers use as well."""

    LIMIT = '[[limit]]\nname = "api"\nkind = "stock"\namount = 10\n'

    def setUp(self):
        self.folder = harness.Folder(self)

    def start(self, url, name):
        """A server with a configuration of its own, which has the limit."""
        return front(self, url, "--config", self.folder.write(name, self.LIMIT))

    def retire(self, server, name):
        self.folder.write(name, "")
        self.assertEqual(server.wait_for_event("configuration reloaded")["removed"], "api")
        self.assertEqual(server.ask("TAKE", "api", "k").code, "NOLIMIT")

    def check_that_who_shares_the_store_goes_on(self, url):
        one, other = (self.start(url, name) for name in ("one.toml", "other.toml"))
        self.assertEqual(one.ask("TAKE", "api", "k", "COST", "2")[1], 8)
        self.retire(one, "one.toml")
        self.retire(other, "other.toml")
        self.assertEqual(one.ask("LIMIT", "SET", "api", "STOCK", "10"), "OK")
        harness.wait_until(lambda: not isinstance(other.ask("TAKE", "api", "k"), harness.Failure),
                           "that the other server has the limit again")
        self.assertEqual(other.ask("LIMIT", "LIST"), [b"api"])
        self.assertIn(b"limits_retired:0\r\n", other.ask("INFO", "store"))

    def test_is_back_for_all_when_somebody_defines_it(self):
        self.check_that_who_shares_the_store_goes_on(redis_server.Redis(self).url())

    def test_is_back_for_all_in_front_of_a_server(self):
        keeper = back(self)
        self.check_that_who_shares_the_store_goes_on(f"mete://{address(keeper)}?timeout=20s")

    def test_is_back_though_it_is_defined_where_it_was_never_retired(self):
        url = redis_server.Redis(self).url()
        one, other = self.start(url, "one.toml"), front(self, url)
        self.retire(one, "one.toml")
        self.assertEqual(other.ask("LIMIT", "SET", "api", "STOCK", "10"), "OK")
        harness.wait_until(lambda: not isinstance(one.ask("TAKE", "api", "k"), harness.Failure), "that it has the limit again")

    def test_of_a_server_in_front_is_not_the_keepers(self):
        keeper = back(self, data=self.folder / "data")
        url = f"mete://{address(keeper)}?timeout=20s"
        one, other = (self.start(url, name) for name in ("one.toml", "other.toml"))
        self.retire(one, "one.toml")
        self.assertEqual(keeper.stop(), 0)
        keeper = back(self, port=keeper.resp_port, data=self.folder / "data")
        harness.wait_until(lambda: not isinstance(other.ask("TAKE", "api", "k"), harness.Failure),
                           "that whose file has it can take of it")
        self.assertEqual(keeper.ask("LIMIT", "LIST"), [b"api"])
        self.assertEqual(one.ask("TAKE", "api", "k").code, "NOLIMIT")
        self.assertEqual(one.stop(), 0)
        self.assertEqual(front(self, url).ask("TAKE", "api", "k").code, "NOLIMIT", "nor does a restart bring it back")


if __name__ == "__main__":
    harness.main()
