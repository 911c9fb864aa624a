#!/usr/bin/env python3
"""examples/jobs as its reader would run it: built on its own, on a real PostgreSQL, with workers that are killed, stopped and overtaken."""

import random
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness
from postgres import Postgres

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/jobs"
CREDITS = 100  # of each user in a month, as schema.sql says
AT_ONCE = "0.1 seconds"
PATIENCE_S = 300  # for compilers, and for work that takes some seconds on an idle machine


class JobsExampleTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.built = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="mete-jobs-")))
        for words in (["-S", EXAMPLE, "-B", cls.built], ["--build", cls.built]):
            harness.run("cmake", *words, timeout=PATIENCE_S)
        cls.postgres = cls.enterClassContext(Postgres(harness.free_port()))
        harness.run(harness.program, "migrate", cls.postgres.url)

    def setUp(self):
        self.query("drop table if exists jobs")
        self.query("truncate mete.limits, mete.revisions, mete.meters, mete.operations, mete.events")
        self.query((EXAMPLE / "schema.sql").read_text())

    def query(self, sql):
        return self.postgres.query(sql)

    def start(self, *words, **options):
        process = subprocess.Popen([self.built / words[0], *words[1:]], stdout=subprocess.PIPE, text=True,
                                   env=self.postgres.environment, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def worker(self, name, lease="1 second", ttl="10 minutes"):
        return self.start("worker", name, lease, ttl)

    def web(self, requests, ttl="10 minutes"):
        """The answers to some requests."""
        return harness.run(self.built / "web", ttl, input="".join(line + "\n" for line in requests),
                           environment=self.postgres.environment).stdout.splitlines()

    def wait_for(self, condition, what):
        harness.wait_until(lambda: self.query(f"select {condition}") == [["t"]], what, PATIENCE_S)

    def wait_for_all_jobs(self):
        self.wait_for("not exists (select from jobs where state <> 'done')", "the end of all jobs")

    def wait_for_job(self, job, condition):
        self.wait_for(f"exists (select from jobs where id = '{job}' and {condition})", f"{job} with {condition}")

    def check_books(self):
        """Every job that is done was paid for once, with what it has cost; and nobody has used more than there is."""
        self.assertEqual([], self.query("select * from mete.audit()"))
        self.assertEqual([], self.query("""
            select j.id, j.spent, e.count, e.amount from jobs j
            left join lateral (select count(*), sum(amount) as amount from mete.usage_events where tag = j.id) e on true
            where j.state = 'done' and (e.count, e.amount) is distinct from (1, j.spent)"""))
        self.assertEqual([], self.query(f"""
            select key, sum(amount) from mete.usage_events
            group by key, date_trunc('month', charged_at at time zone 'Europe/Berlin') having sum(amount) > {CREDITS}"""))
        self.assertEqual([], self.query("""
            select h.id from mete.holds h join jobs j on j.id = h.tag where h.state = 'held' and j.state = 'done'"""))

    def test_many_jobs_while_workers_are_killed(self):
        seed = random.randrange(10**6)
        chance = random.Random(seed)
        with self.subTest(seed=seed):
            webs = [self.start("web", stdin=subprocess.PIPE) for _ in range(3)]
            for web in webs:  # each asks for as much as there is, and more
                web.stdin.write("".join(f"enqueue {user} {chance.randint(1, 12)}\n" for user in ("ann", "bob") for _ in range(12)))
                web.stdin.close()
            answers = [line[:3] for web in webs for line in web.stdout]
            self.assertEqual({"201", "429"}, set(answers))
            self.assertEqual([[str(answers.count("201"))]], self.query("select count(*) from jobs"))
            workers = [self.worker(f"first {i}") for i in range(3)]
            for kill in range(5):
                victim = workers.pop(0)
                self.wait_for(f"count(*) > {kill} from jobs where state = 'done'", "some jobs to be done")
                self.wait_for("exists (select from jobs where state = 'running')", "some work")
                victim.kill()
                workers.append(self.worker(f"later {kill}"))
            self.wait_for_all_jobs()
            self.check_books()
            self.assertEqual([["0"]], self.query("select count(*) from mete.holds where state = 'held'"))

    def test_a_job_keeps_its_hold_when_its_worker_dies(self):
        self.assertEqual(["201 print"], self.web(["enqueue ann 40 print"]))
        first = self.worker("first")
        self.wait_for_job("print", "state = 'running'")
        first.kill()
        hold = "select id, made_at, state from mete.holds where tag = 'print'"
        before = self.query(hold)
        self.assertEqual("held", before[0][2])
        # Somebody else is told that the credits are not there.
        self.assertIn("429 retry after", self.web(["enqueue ann 61"])[0])
        self.worker("second")
        self.wait_for_job("print", "state = 'done' and attempt = 2 and worker = 'second'")
        self.assertEqual([[*before[0][:2], "committed"]], self.query(hold))
        self.assertEqual([["30", "0", "70"]], self.query("select used, held, remaining from mete.usage('credits', 'ann')"))
        self.check_books()

    def test_a_job_gets_a_new_hold_when_its_own_has_expired(self):
        self.web(["enqueue ann 4 print"], ttl=AT_ONCE)
        self.wait_for("exists (select from mete.orphans where tag = 'print')", "its hold to expire")
        self.worker("only")
        self.wait_for_job("print", "state = 'done'")
        self.assertEqual([["print", "expired"], ["print/1", "committed"]],
                         self.query("select id, state from mete.holds where tag = 'print' order by id"))
        self.check_books()

    def test_a_job_is_put_off_when_its_credits_are_gone(self):
        self.web(["enqueue ann 60 late"], ttl=AT_ONCE)
        self.wait_for("exists (select from mete.orphans where tag = 'late')", "its hold to expire")
        self.assertEqual(["201 quick"], self.web(["enqueue ann 60 quick"]))
        self.worker("only")
        self.wait_for_job("quick", "state = 'done'")
        self.wait_for_job("late", "state = 'queued' and attempt = 0 and due_at > now()")
        self.assertEqual([["45", "0", "55"]], self.query("select used, held, remaining from mete.usage('credits', 'ann')"))
        self.check_books()

    def test_a_worker_that_only_seemed_dead_changes_nothing(self):
        self.web(["enqueue ann 20 print"])
        slow = self.worker("slow")
        self.wait_for_job("print", "worker = 'slow'")
        slow.send_signal(signal.SIGSTOP)
        self.worker("quick")
        self.wait_for_job("print", "state = 'done' and worker = 'quick'")
        slow.send_signal(signal.SIGCONT)
        # If it has stopped within a transaction, PostgreSQL has ended its session, and so it ends.
        said = [slow.stdout.readline(), slow.stdout.readline()]
        self.assertEqual("slow: print, attempt 1, is taken\n", said[0])
        self.assertIn(said[1], ["slow: print, attempt 1, was taken by somebody else\n", ""])
        self.assertEqual([["done by quick"]], self.query("select result from jobs where id = 'print'"))
        self.check_books()

    def test_what_the_web_process_answers(self):
        cases = [
            ("enqueue ann 70 print", "201 print"),
            ("enqueue ann 70 print", "201 print"),  # a client that asks again, since it got no answer
            ("enqueue ann 69 print", "409 id 'print' was used for an operation with other parameters"),
            ("enqueue ann 31 more", "429 retry after "),
            ("enqueue ann 30 more", "201 more"),    # what was denied is not held against it
            ("enqueue ann 0", "400 cost of 'credits' must be 1 to"),
            ("enqueue ann x", "400 invalid input syntax for type bigint"),
            ("enqueue ann", "400 this is no request"),
            ("list", "400 this is no request"),
        ]
        for (request, wanted), answer in zip(cases, self.web([request for request, _ in cases]), strict=True):
            with self.subTest(request=request):
                self.assertTrue(answer.startswith(wanted), answer)
        self.assertEqual([["more", "30"], ["print", "70"]], self.query("select id, cost from jobs order by id"))
        self.assertEqual([["0", "100", "0"]], self.query("select used, held, remaining from mete.usage('credits', 'ann')"))

    def test_bad_words_are_told_at_once(self):
        cases = [
            (["worker"], 2, "usage: worker NAME [LEASE [TTL]]"),
            (["worker", "one", "soon"], 1, 'invalid input syntax for type interval: "soon"'),
            (["web", "soon"], 1, 'invalid input syntax for type interval: "soon"'),
        ]
        for words, status, wanted in cases:
            with self.subTest(words=words):
                ended = harness.run(self.built / words[0], *words[1:], input="", environment=self.postgres.environment, check=False)
                self.assertEqual(status, ended.returncode)
                self.assertIn(wanted, ended.stderr)


if __name__ == "__main__":
    harness.main()
