#!/usr/bin/env python3
"""The configuration of a running server: where it comes from, how it is reloaded, what is refused."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import unittest

import harness
from harness import Simple

API = '[[limit]]\nname = "api"\nkind = "stock"\namount = 10\n'


class Sources(unittest.TestCase):
    def setting(self, name, config=None, environment=None, flags=()):
        folder = harness.Folder(self)
        server = harness.Server(self, *flags, config=folder.write("mete.toml", config) if config else None,
                                environment=environment)
        with server.resp() as client:
            return client.ask("CONFIG", "GET", name)[1].decode()

    def test_flag_over_environment_over_file_over_default(self):
        file = "[server]\nmax_connections = 111\n"
        environment = {"METE_SERVER_MAX_CONNECTIONS": "222"}
        flags = ("--max-connections", "333")
        name = "server.max_connections"
        self.assertEqual(self.setting(name), "10000")
        self.assertEqual(self.setting(name, file), "111")
        self.assertEqual(self.setting(name, file, environment), "222")
        self.assertEqual(self.setting(name, file, environment, flags), "333")
        self.assertEqual(self.setting(name, file, flags=flags), "333")
        self.assertEqual(self.setting(name, environment=environment), "222")

    def test_the_file_s_name_from_the_environment(self):
        path = harness.Folder(self).write("mete.toml", API)
        server = harness.Server(self, environment={"METE_CONFIG": path})
        self.assertEqual(server.ask("LIMIT", "LIST"), [b"api"])

    def test_addresses_from_the_file(self):
        folder = harness.Folder(self)
        path = folder.write("mete.toml", f'[server]\nresp = ["127.0.0.1:0", "unix:{folder / "sock"}"]\nhttp = "off"\n'
                                         'data = ""\n')
        server = harness.Server(self, config=path, listen=False)
        self.assertIsNone(server.http_port)
        self.assertEqual(server.ask("PING"), Simple("PONG"))
        self.assertEqual(harness.run("redis-cli", "-s", folder / "sock", "PING").stdout, "PONG\n")
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(folder / "sock"))

    def test_mistakes_end_the_start_and_say_where(self):
        folder = harness.Folder(self)
        table = {
            # file: what is said
            "[server]\nmax_conections = 1\n": "max_connections",  # and what was meant
            "[server]\nmax_connections = 0\n": ":2",
            '[server]\nmax_connections = "many"\n': ":2",
            "[server\n": ":1",
            "[[limit]]\nname = 'api'\nkind = 'turtle'\namount = 1\n": ":3",
            "[[limit]]\nname = 'api'\nkind = 'bucket'\namount = 1\n": "period",
            "[[limit]]\nname = 'api'\nkind = 'stock'\namount = 0\n": ":4",
            API + API: "api",
            "[nonsense]\na = 1\n": "nonsense",
        }
        for text, said in table.items():
            with self.subTest(text):
                path = folder.write("mete.toml", text)
                for command in (["serve", "--config", path, "--resp", "127.0.0.1:0", "--http", "off", "--data", ""],
                                ["check-config", path]):
                    result = harness.run(harness.program, *command, check=False)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(path, result.stderr + result.stdout)
                    self.assertIn(said, result.stderr + result.stdout)

    def test_check_config_likes_a_good_file(self):
        path = harness.Folder(self).write("mete.toml", "[server]\nmax_connections = 5\n" + API)
        self.assertEqual(harness.run(harness.program, "check-config", path).returncode, 0)

    def test_unknown_variables_and_flags_are_refused(self):
        result = harness.run(harness.program, "serve", "--max-conections", "1", check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("max-connections", result.stderr)
        result = harness.run(harness.program, "serve", "--data", "", check=False,
                             environment={**os.environ, "METE_SERVER_MAX_CONECTIONS": "1"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("METE_SERVER_MAX_CONECTIONS", result.stderr)


class Reloading(unittest.TestCase):
    def setUp(self):
        self.folder = harness.Folder(self)
        self.path = self.folder.write("mete.toml", API)
        self.server = harness.Server(self, config=self.path)
        self.client = self.server.resp()
        self.assertEqual(self.client.line("TAKE api k COST 4")[1], 6)

    def test_a_change_is_noticed_and_usage_is_kept(self):
        self.folder.write("mete.toml", API.replace("10", "20") + API.replace("api", "more"))
        event = self.server.wait_for_event("configuration reloaded")
        self.assertEqual((event["added"], event["changed"], event["removed"]), ("more", "api", ""))
        self.assertEqual(self.client.line("USAGE api k"), [4, 0, 16, 20, -1])
        self.assertEqual(self.client.line("LIMIT LIST"), [b"api", b"more"])
        self.folder.write("mete.toml", API.replace("api", "more"))
        self.assertEqual(self.server.wait_for_event("configuration reloaded", 2)["removed"], "api")
        self.assertEqual(self.client.line("TAKE api k").code, "NOLIMIT")

    def test_a_limit_that_was_missing_for_a_moment_lost_nothing(self):
        held = self.client.line("HOLD api k TTL 1h ID job COST 2")
        self.assertEqual(held[0], 1)
        self.folder.write("mete.toml", "")
        self.assertEqual(self.server.wait_for_event("configuration reloaded")["removed"], "api")
        self.assertEqual(self.client.line("TAKE api k").code, "NOLIMIT")
        self.assertIn(b"limits_retired:1\r\n", self.client.line("INFO store"))
        self.folder.write("mete.toml", API)
        self.assertEqual(self.server.wait_for_event("configuration reloaded", 2)["added"], "api")
        self.assertEqual(self.client.line("USAGE api k"), [4, 2, 4, 10, -1])
        self.assertEqual(self.client.line("COMMIT job")[0], 2)

    def test_it_is_gone_for_good_by_a_command_alone(self):
        reply = self.client.line("LIMIT DEL api")
        self.assertEqual(reply.code, "ERR")
        self.assertIn("stands in", str(reply))
        self.folder.write("mete.toml", "")
        self.server.wait_for_event("configuration reloaded")
        self.assertEqual(self.client.line("LIMIT DEL api"), 1)
        self.folder.write("mete.toml", API)
        self.server.wait_for_event("configuration reloaded", 2)
        self.assertEqual(self.client.line("USAGE api k"), [0, 0, 10, 10, -1])

    def test_what_left_the_file_sleeps_over_restarts(self):
        folder = harness.Folder(self)
        path = folder.write("mete.toml", API)
        flags = ("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", folder / "data", "--config", path)
        server = harness.Server(self, *flags, listen=False)
        self.assertEqual(server.ask("TAKE", "api", "k", "COST", "4")[1], 6)
        folder.write("mete.toml", "")
        server.wait_for_event("configuration reloaded")
        server.stop()
        server = harness.Server(self, *flags, listen=False)
        self.assertEqual(server.ask("TAKE", "api", "k").code, "NOLIMIT")
        server.stop()
        folder.write("mete.toml", API)
        server = harness.Server(self, *flags, listen=False)
        self.assertEqual(server.ask("USAGE", "api", "k")[0], 4)

    def test_many_limits_do_not_leave_at_once(self):
        many = "".join(API.replace("api", f"l{number}") for number in range(5))
        self.folder.write("mete.toml", API + many)
        self.server.wait_for_event("configuration reloaded")
        self.folder.write("mete.toml", API)
        event = self.server.wait_for_event("configuration not reloaded: nothing has changed")
        self.assertIn("server.removed_limits_max", event["reason"])
        self.assertEqual(len(self.client.line("LIMIT LIST")), 6)
        self.folder.write("mete.toml", "[server]\nremoved_limits_max = 5\n" + API)
        self.server.wait_for_event("configuration reloaded", 2)
        self.assertEqual(self.client.line("LIMIT LIST"), [b"api"])

    def test_a_file_that_is_written_in_place_is_noticed(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(API.replace("10", "30"))
        self.server.wait_for_event("configuration reloaded")
        self.assertEqual(self.client.line("USAGE api k"), [4, 0, 26, 30, -1])

    def test_a_link_that_is_moved_is_noticed(self):
        """As Kubernetes replaces the files of a ConfigMap."""
        folder = harness.Folder(self)
        for version, amount in (("v1", "10"), ("v2", "50")):
            os.mkdir(folder / version)
            (folder.path / version / "mete.toml").write_text(API.replace("10", amount))
        os.symlink("v1", folder / "data")
        os.symlink("data/mete.toml", folder / "mete.toml")
        server = harness.Server(self, config=folder / "mete.toml")
        os.symlink("v2", folder / "data.new")
        os.rename(folder / "data.new", folder / "data")
        server.wait_for_event("configuration reloaded")
        self.assertEqual(server.ask("USAGE", "api", "k")[3], 50)

    def test_sighup_reloads(self):
        # Through a link from another folder, so that nothing but the signal tells of the change.
        outside = harness.Folder(self)
        os.symlink(self.path, outside / "mete.toml")
        server = harness.Server(self, config=outside / "mete.toml")
        self.folder.write("mete.toml", API.replace("10", "40"))
        server.signal(signal.SIGHUP)
        server.wait_for_event("configuration reloaded")
        self.assertEqual(server.ask("USAGE", "api", "k")[3], 40)

    def test_a_bad_file_changes_nothing_and_is_reported(self):
        for number, (text, said) in enumerate((
                (API + '[[limit]]\nname = "x"\nkind = "turtle"\namount = 1\n', ":7"),
                (API.replace("10", "0"), ":4"), ("[server\n", ":1"),
                ("[server]\nmax_connections = 0\n" + API, ":2")), start=1):
            with self.subTest(text):
                self.folder.write("mete.toml", text)
                event = self.server.wait_for_event("configuration not reloaded: nothing has changed", number)
                self.assertIn(said, event["reason"])
                self.assertIn("mete.toml", event["reason"])
                self.assertEqual(event["level"], "error")
                self.assertEqual(self.client.line("USAGE api k"), [4, 0, 6, 10, -1])
                self.assertEqual(self.client.line("LIMIT LIST"), [b"api"])
        self.folder.write("mete.toml", API.replace("10", "20"))
        self.server.wait_for_event("configuration reloaded")
        metrics = harness.ask_http(self.server.http(), "GET", "/metrics").body
        self.assertIn(b'mete_config_reloads_total{result="failure"} 4\n', metrics)
        self.assertIn(b'mete_config_reloads_total{result="success"} 1\n', metrics)

    def test_a_file_that_is_gone_changes_nothing(self):
        os.remove(self.path)
        self.server.signal(signal.SIGHUP)
        self.server.wait_for_event("configuration not reloaded: nothing has changed")
        self.assertEqual(self.client.line("USAGE api k"), [4, 0, 6, 10, -1])

    def test_limits_of_one_s_own_are_left_alone(self):
        self.client.line("LIMIT SET own STOCK 5")
        self.folder.write("mete.toml", API.replace("10", "20"))
        self.server.wait_for_event("configuration reloaded")
        self.assertEqual(self.client.line("LIMIT LIST"), [b"api", b"own"])

    def test_settings_that_count_at_once(self):
        self.folder.write("mete.toml", "[server]\nmax_connections = 1\n" + API)
        self.server.wait_for_event("configuration reloaded")
        self.assertEqual(self.server.ask("TAKE", "api", "k"), "ERR max number of clients reached")

    def test_settings_that_wait_for_a_start_say_so(self):
        self.folder.write("mete.toml", "[server]\nthreads = 3\n" + API)
        self.assertIn("threads", self.server.wait_for_event("this setting takes effect at the next start")["setting"])

    def test_config_get_tells_what_is_in_effect(self):
        settings = ("server.threads", "server.idle_timeout", "timeout", "server.log_level")
        ask = lambda: self.client.ask("CONFIG", "GET", *settings)
        before = ask()
        self.folder.write("mete.toml", '[server]\nthreads = 3\nidle_timeout = "9s"\nlog_level = "debug"\n' + API)
        self.server.wait_for_event("configuration reloaded")
        self.assertEqual(ask(), [b"debug" if word == b"info" else word for word in before])
        self.folder.write("mete.toml", "[server]\nthreads = 3\n" + API)  # One of them goes on waiting, and is named.
        self.server.wait_for_event("configuration reloaded", 2)
        waiting = [self.server.wait_for_event("this setting takes effect at the next start", number)["setting"]
                   for number in (1, 2, 3)]
        self.assertEqual(waiting, ["server.threads", "server.idle_timeout", "server.threads"])
        self.assertEqual(ask(), before)


class Exposure(unittest.TestCase):
    def start(self, *flags, check=False):
        return harness.run("timeout", "--preserve-status", "2", harness.program, "serve", "--data", "", *flags,
                           check=check)

    def test_the_network_needs_a_password_or_a_certificate(self):
        for flags in (("--resp", "0.0.0.0:0", "--http", "off"), ("--resp", "[::]:0", "--http", "off"),
                      ("--resp", "off", "--http", "0.0.0.0:0")):
            with self.subTest(flags):
                result = self.start(*flags)
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, "password")
                self.assertRegex(result.stderr, "--insecure")

    def test_loopback_does_not(self):
        for address in ("127.0.0.1:0", "127.9.9.9:0", "localhost:0"):
            with self.subTest(address):
                server = harness.Server(self, "--resp", address, "--http", "off", "--data", "", listen=False)
                self.assertTrue(server.is_running())

    def test_with_a_password_or_insecure_it_listens(self):
        for flags in (("--password", "a long secret"), ("--insecure",)):
            with self.subTest(flags):
                server = harness.Server(self, "--resp", "0.0.0.0:0", "--http", "0.0.0.0:0", "--data", "", *flags,
                                        listen=False)
                password = "a long secret" if flags[0] == "--password" else None
                with server.resp(password=password) as client:
                    self.assertEqual(client.line("PING"), Simple("PONG"))
                warning = "whoever can connect may do everything"
                if not password:
                    server.wait_for_log(warning, count=2)  # RESP and HTTP
                server.wait_for_log("ready")
                self.assertEqual(server.log().count(warning), 0 if password else 2)


class BannerAndLog(unittest.TestCase):
    def test_the_line_to_try_works(self):
        harness.require("redis-cli")
        path = harness.Folder(self).write("mete.toml", API)
        for config in (None, path):
            with self.subTest(config=config):
                server = harness.Server(self, config=config)
                self.assertIn(f"127.0.0.1:{server.resp_port}", server.banner)
                self.assertIn(f"127.0.0.1:{server.http_port}", server.banner)
                self.assertRegex(server.banner, "data +memory only")
                line = re.search("^Try: (.*)$", server.banner, re.M)[1]
                output = harness.run("sh", "-c", line).stdout
                self.assertEqual(output.replace("OK\n", "").split()[:3], ["1", "9", "10"])

    def test_off_a_terminal_the_banner_is_a_line_of_the_log(self):
        harness.require("redis-cli")
        port = harness.free_port()
        words = [harness.program, "serve", "--resp", f"127.0.0.1:{port}", "--http", "off", "--data", ""]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            self.addCleanup(process.kill)
            event = json.loads(process.stdout.readline())
            self.assertEqual((event["message"], event["resp"], event["limits"]), ("listening", f"127.0.0.1:{port}", 0))
            self.assertIn("memory only", event["data"])
            self.assertEqual(harness.run("sh", "-c", event["try"]).stdout.split()[:4], ["OK", "1", "9", "10"])
            process.terminate()
            for line in process.stdout:
                json.loads(line)

    def test_logs_are_json_where_nobody_looks(self):
        server = harness.Server(self)
        self.assertEqual(server.wait_for_event("ready")["level"], "info")
        server.stop()
        server.log_reader.join()
        for line in server.log().splitlines():
            event = json.loads(line)
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def on_terminal(self, *flags):
        """What a server writes to a terminal until it is ready."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        harness.Server(self, *flags, stderr=slave)
        os.close(slave)
        text = b""
        while b"ready" not in text:
            self.assertTrue(select.select([master], [], [], harness.PATIENCE_S)[0])
            text += os.read(master, 4096)
        return text.decode()

    def test_logs_are_text_on_a_terminal(self):
        self.assertRegex(self.on_terminal(), r"^\d\d:\d\d:\d\d info +ready\r\n")

    def test_the_format_can_be_chosen(self):
        self.assertTrue(self.on_terminal("--log-format", "json").startswith("{"))
        server = harness.Server(self, "--log-format", "text")
        self.assertRegex(server.wait_for_log("ready"), r"^\d\d:\d\d:\d\d info +ready$")


if __name__ == "__main__":
    harness.main()
