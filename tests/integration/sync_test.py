#!/usr/bin/env python3
"""Syncs with a real PostgreSQL: by schedule and on demand, by RESP, HTTP and `mete sync`, under load and by two servers at once."""

import json
import threading
import unittest

import harness
from postgres import Postgres

DONE, NO, ERROR = 0, 1, 2  # exit statuses
STORAGE = '[[limit]]\nname = "storage"\nkind = "stock"\namount = 1000000000\n'


class SyncTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.postgres = cls.enterClassContext(Postgres(harness.free_port()))

    def setUp(self):
        self.folder = harness.Folder(self)
        self.postgres.query("drop table if exists files; create table files (tenant text, size bigint)")

    def config(self, query="select tenant, sum(size) from files group by tenant", **options):
        lines = {"limit": "storage", "source": self.postgres.url, "query": query, **options}
        text = STORAGE + "[[sync]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
        return self.folder.write("mete.toml", text)

    def store(self, **tenants):
        self.postgres.query("".join(f"insert into files values ('{name}', {size});" for name, size in tenants.items()))

    def serve(self, *flags, **options):
        return harness.Server(self, *flags, config=self.config(**options))

    def used(self, server, key):
        return server.ask("USAGE", "storage", key)[0]

    def run_of(self, server, number):
        """A run by its number, once it has ended."""
        def ended():
            listed = self.get(server, "/v1/syncs")["runs"]
            run = next(run for run in listed if run["run"] == number)
            return run if run["state"] not in ("waiting", "running") else None

        return harness.wait_until(ended, f"the end of run {number}")

    def get(self, server, path):
        client = server.http()
        client.request("GET", path)
        return json.loads(client.getresponse().read())

    def post(self, server, body=None, limit="storage"):
        client = server.http()
        client.request("POST", f"/v1/limits/{limit}/sync", json.dumps(body) if body is not None else None)
        response = client.getresponse()
        return response.status, json.loads(response.read())

    def sync(self, server, *options):
        return self.run_of(server, server.ask("LIMIT", "SYNC", "storage", *options))

    def metrics(self, server):
        client = server.http()
        client.request("GET", "/metrics")
        lines = client.getresponse().read().decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if line.startswith("mete_sync_"))


class OnDemand(SyncTest):
    def test_over_resp_and_http(self):
        self.store(acme=500, bolt=70)
        server = self.serve(max_change="20%")
        server.ask("TAKE", "storage", "acme", "COST", 510)
        server.ask("TAKE", "storage", "gone", "COST", 5)
        server.ask("HOLD", "storage", "acme", "COST", 40, "TTL", "1h")
        dry = self.sync(server, "DRYRUN")
        self.assertEqual("done", dry["state"], dry)
        self.assertEqual([{"key": "bolt", "used": 0, "truth": 70, "change": 70},
                          {"key": "acme", "used": 510, "truth": 500, "change": -10}], dry["differences"])
        self.assertEqual(510, self.used(server, "acme"))
        status, answer = self.post(server)
        self.assertEqual(202, status)
        run = self.run_of(server, answer["run"])
        self.assertEqual({"state": "done", "trigger": "demand", "keys": 2, "missing_keys": 1, "differing_keys": 2, "changed_keys": 2,
                          "used": 515, "drift": 80, "message": ""}, {name: run[name] for name in (
                              "state", "trigger", "keys", "missing_keys", "differing_keys", "changed_keys", "used", "drift", "message")})
        self.assertEqual([500, 40], server.ask("USAGE", "storage", "acme")[:2])
        self.assertEqual(5, self.used(server, "gone"))
        event = server.wait_for_event("sync done", 2)
        self.assertEqual(("storage", 80, 2), (event["limit"], event["drift"], event["changed_keys"]))
        metrics = self.metrics(server)
        self.assertEqual("1", metrics['mete_sync_runs_total{limit="storage",result="done"}'])
        self.assertEqual("80", metrics['mete_sync_drift{limit="storage"}'])
        self.assertEqual("2", metrics['mete_sync_changed_keys{limit="storage"}'])
        self.assertGreater(int(metrics['mete_sync_last_success_timestamp_seconds{limit="storage"}']), 1_700_000_000)

    def test_too_large_a_change_is_refused_until_it_is_forced(self):
        self.store(acme=500)
        server = self.serve(max_change="20%")
        server.ask("TAKE", "storage", "acme", "COST", 100)
        run = self.sync(server)
        self.assertEqual("refused", run["state"])
        self.assertIn("it would change 400 units, of 100 in use, and max_change is 20%", run["message"])
        self.assertEqual(100, self.used(server, "acme"))
        self.assertEqual(run["message"], server.wait_for_event("sync refused: nothing has changed")["reason"])
        self.assertEqual("done", self.sync(server, "FORCE")["state"])
        self.assertEqual(500, self.used(server, "acme"))
        self.assertEqual("1", self.metrics(server)['mete_sync_runs_total{limit="storage",result="refused"}'])

    def test_missing_keys(self):
        self.store(acme=500)
        server = self.serve(missing="zero")
        server.ask("TAKE", "storage", "acme", "COST", 500)
        server.ask("TAKE", "storage", "gone", "COST", 50)
        self.assertEqual("done", self.sync(server)["state"])
        self.assertEqual(0, self.used(server, "gone"))
        self.postgres.query("truncate files")
        run = self.sync(server)
        self.assertEqual("refused", run["state"])
        self.assertIn("no rows", run["message"])
        self.assertEqual(500, self.used(server, "acme"))

    def test_only_an_admin_may(self):
        self.store(acme=500)
        server = self.serve("--password", "admin", "--use-password", "use")
        with server.resp(password="use") as client:
            self.assertEqual("NOPERM", client.ask("LIMIT", "SYNC", "storage").code)
            self.assertEqual("NOPERM", client.ask("LIMIT", "SYNCS").code)
        client = server.http()
        client.request("POST", "/v1/limits/storage/sync", headers={"Authorization": "Bearer use"})
        self.assertEqual(403, client.getresponse().status)
        with server.resp(password="admin") as client:
            self.assertEqual(1, client.ask("LIMIT", "SYNC", "storage"))

    def test_a_reload_brings_syncs_and_takes_them(self):
        self.store(acme=500)
        server = self.serve()
        self.config(schedule="0 3 * * *")
        server.wait_for_event("configuration reloaded")
        self.assertTrue(self.get(server, "/v1/syncs")["syncs"][0]["next_run_at"].endswith("T03:00:00.000Z"))
        self.folder.write("mete.toml", STORAGE)
        server.wait_for_event("configuration reloaded", 2)
        self.assertEqual(404, self.post(server)[0])
        self.config(schedule="0 3 * *")
        self.assertIn("schedule: it has 4 fields", server.wait_for_event("configuration not reloaded: nothing has changed")["reason"])

    def test_a_server_ends_while_a_query_runs(self):
        server = self.serve(query="select 'acme', 1 from pg_sleep(600)")
        server.ask("LIMIT", "SYNC", "storage")
        harness.wait_until(lambda: self.postgres.query("select 1 from pg_stat_activity where wait_event = 'PgSleep'"), "the query")
        self.assertEqual(0, server.stop())


class UnderLoad(SyncTest):
    def test_s5_and_s6_with_traffic_all_the_time(self):
        """What is committed while the query sleeps is kept, and so is what is held."""
        self.store(acme=500)
        server = self.serve(query="select tenant, sum(size) from files, pg_sleep(1) group by tenant")
        server.ask("TAKE", "storage", "acme", "COST", 480)
        server.ask("HOLD", "storage", "acme", "COST", 400, "TTL", "1h", "ID", "in flight")
        number = server.ask("LIMIT", "SYNC", "storage")
        harness.wait_until(lambda: self.postgres.query("select 1 from pg_stat_activity where wait_event = 'PgSleep'"), "the query")
        with server.resp() as client:
            for turn in range(100):
                client.ask("HOLD", "storage", "acme", "COST", 3, "TTL", "1h", "ID", f"upload {turn}")
                client.ask("COMMIT", f"upload {turn}")
                client.ask("TAKE", "storage", "acme", "COST", 2)
                client.ask("GIVE", "storage", "acme", "COST", 1)
        self.assertEqual("done", self.run_of(server, number)["state"])
        self.assertEqual([500 + 100 * (3 + 2 - 1), 400], server.ask("USAGE", "storage", "acme")[:2])

    def test_two_servers_at_once(self):
        self.store(acme=500)
        config = self.config(query="select tenant, sum(size) from files, pg_sleep(1) group by tenant")
        servers = [harness.Server(self, config=config) for _ in range(2)]
        runs = [None, None]

        def sync(index):
            runs[index] = self.sync(servers[index])

        threads = [threading.Thread(target=sync, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(["busy", "done"], sorted(run["state"] for run in runs), runs)
        self.assertIn("is being synced elsewhere", next(run["message"] for run in runs if run["state"] == "busy"))


class ByHand(SyncTest):
    def mete(self, *words, status=DONE):
        done = harness.run(harness.program, *words, check=False, timeout=60)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout if status == DONE else done.stdout + done.stderr

    def sync_here(self, config, *words, status=DONE):
        return self.mete("sync", *words, "--config", config, "--data", self.folder / "data", status=status)

    def test_dry_run_then_sync(self):
        self.store(acme=500, bolt=7)
        config = self.config()
        self.assertEqual("KEY   USED  TRUTH  CHANGE\n"
                         "acme     0    500    +500\n"
                         "bolt     0      7      +7\n", self.sync_here(config, "--dry-run").split("'storage'")[0])
        self.assertRegex(self.sync_here(config, "--dry-run"), "2 keys, 2 differing by 507 units in all; nothing changed, in ")
        self.assertRegex(self.sync_here(config, "storage"), "^'storage': 2 keys, 2 differing by 507 units in all; 2 keys changed, in ")
        answer = json.loads(self.sync_here(config, "--json"))
        self.assertEqual(("done", "storage", 0, 507), tuple(answer[name] for name in ("outcome", "limit", "drift", "used")))
        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", self.folder / "data", listen=False)
        self.assertEqual(500, self.used(server, "acme"))

    def test_statuses_and_messages(self):
        self.store(acme=500)
        config = self.config(max_change=10)
        self.assertIn("it would change 500 units", self.sync_here(config, status=NO))
        self.sync_here(config, "--force")
        self.assertIn("no [[sync]] for limit 'nope'", self.sync_here(config, "nope", status=ERROR))
        self.assertIn("the memory of the server alone", self.mete("sync", "--config", config, "--data", "", status=ERROR))
        self.assertIn("has no [[sync]]", self.sync_here(self.folder.write("none.toml", STORAGE), status=ERROR))
        self.assertIn("syntax error", self.sync_here(self.config(query="selec"), status=ERROR))

    def test_a_running_server_is_to_be_asked_itself(self):
        config = self.config()
        harness.Server(self, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", self.folder / "data", listen=False)
        said = self.sync_here(config, status=ERROR)
        self.assertIn("is in use by process", said)
        self.assertIn("LIMIT SYNC", said)

    def test_check_config_counts_them(self):
        self.assertTrue(self.mete("check-config", self.config()).endswith("is good: 1 limit, 1 sync\n"))


if __name__ == "__main__":
    harness.main()
