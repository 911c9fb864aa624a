#!/usr/bin/env python3
"""Measures holds in PostgreSQL, and holds with their commits: beside the usual way, which sums events and reservations under a row lock (event_sums.sql); with many past
events; for one hot user; and through `mete serve`. Judges the bars.

What is compared runs in turns, and ratios are medians of those of neighbours. The tables are printed, and written to
docs/bench/postgres.md between its marks. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench/server"), str(ROOT / "bench/durability"), str(ROOT / "tests/integration")]

import page
import report
import servers
from bars import Bar, Findings, median, spread
from postgres import Postgres, find

USERS, EVENTS = 1000, 1000
CONNECTIONS = 16  # to PostgreSQL, both of pgbench and of mete serve
CLIENTS = 50  # of mete serve
ENOUGH = 9_000_000_000_000_000
PERIODS = ("1 hour", "10 seconds", "4 seconds")  # of windows
SLIDING_AMOUNT = 1_000  # of which a slot's count is kept; more than the users take in ten seconds

# A limit, how many users it has, and how many past events each of them. "few" has the users of "many", for a fair pair.
MANY_USERS, MANY_EVENTS = 50, 100_000
LIMITS = {"jobs": (USERS, EVENTS), "few": (MANY_USERS, EVENTS), "many": (MANY_USERS, MANY_EVENTS)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--rounds", default=5, type=int, help="of each pair (5)")
    parser.add_argument("--seconds", default=3, type=int, help="for each run (3)")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


class Bench:
    def __init__(self, arguments, postgres, directory):
        self.arguments = arguments
        self.postgres = postgres
        self.directory = Path(directory)

    def fill(self):
        subprocess.run([self.arguments.program, "migrate", self.postgres.url], check=True, stdout=sys.stderr)
        for name, (users, events) in LIMITS.items():
            print(f"{name}: {users} users with {events:,} events each", file=sys.stderr)
            # As if each had been taken: the balances are the sums of the events.
            self.postgres.query(f"""
                select mete.define('{name}', 'stock', {ENOUGH});
                select count(mete.take('{name}', 'user' || u, {events})) from generate_series(1, {users}) u;
                delete from mete.events e using mete.limits l where l.id = e.limit_id and l.name = '{name}';
                insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
                select now(), l.id, 'user' || u, 'take', 1, now(), 1
                from mete.limits l, generate_series(1, {events}) e, generate_series(1, {users}) u where l.name = '{name}'""")
        if self.postgres.query("select count(*) from mete.audit()") != [["0"]]:
            raise RuntimeError("the books are not right before the first run")
        # A slot of an hour is 29 s long, so that takes share one; of 10 s and 4 s nearly every take begins one.
        for period in PERIODS:
            for kind in ("window", "sliding"):
                amount = ENOUGH if period == "1 hour" else SLIDING_AMOUNT
                self.postgres.query(f"select mete.define('{kind} of {period}', '{kind}', {amount}, '{period}')")
        self.postgres.query((ROOT / "bench/postgres/event_sums.sql").read_text(encoding="utf-8"))
        self.postgres.query(f"""
            insert into usual.users select u, {ENOUGH} from generate_series(1, {USERS + MANY_USERS}) u;
            insert into usual.usage_events (user_id, event_type, amount)
            select u, 'analysis', 1 from generate_series(1, {EVENTS}) e, generate_series(1, {USERS}) u;
            insert into usual.usage_events (user_id, event_type, amount)
            select {USERS} + u, 'analysis', 1 from generate_series(1, {MANY_EVENTS}) e, generate_series(1, {MANY_USERS}) u""")
        self.postgres.query("vacuum analyze")

    def pgbench(self, statement, users):
        """Scripts a second. :u is one of the users."""
        script = self.directory / "script.sql"
        script.write_text(f"\\set u random(1, {users})\n{statement}\n", encoding="utf-8")
        words = [find("pgbench"), "-n", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "1", "-T", str(self.arguments.seconds), "-f", script]
        done = subprocess.run(words, env=self.postgres.environment, capture_output=True, text=True, check=False)
        told = re.search(r"tps = ([\d.]+)", done.stdout)
        if done.returncode or not told:
            raise RuntimeError(f"pgbench: {done.stdout}{done.stderr}")
        return float(told[1])

    def redis_benchmark(self, port, words, requests):
        """Requests a second through the server."""
        done = subprocess.run(["redis-benchmark", "-p", str(port), "-c", str(CLIENTS), "-n", str(requests), "-r", str(USERS), "--csv",
                               *words], capture_output=True, text=True, check=False)
        lines = done.stdout.strip().splitlines()
        if done.returncode or len(lines) < 2 or "rror" in done.stdout:
            raise RuntimeError(f"redis-benchmark: {done.stdout}{done.stderr}")
        return float(lines[-1].split(",")[1].strip('"'))

    def hold(self, limit):
        return self.pgbench(f"select mete.hold('{limit}', 'user' || :u, 1, '1 hour');", LIMITS[limit][0])

    def hold_and(self, end, limit="jobs"):
        """Each a transaction of its own, as where a job lies in between."""
        hold = f"select id from mete.hold('{limit}', 'user' || :u, 1, '1 hour') \\gset"
        return self.pgbench(f"{hold}\nselect {end};", LIMITS[limit][0])

    def job(self, limit):
        return self.hold_and("mete.commit(:id)", limit)

    def take(self, limit):
        return self.pgbench(f"select mete.take('{limit}', 'user' || :u);", USERS)

    def hot(self):
        return self.pgbench("select mete.hold('jobs', 'user7', 1, '1 hour');", 1)

    def usual(self):
        return self.pgbench("select usual.reserve(:u, 1);", USERS)

    def usual_job(self, before=0, users=USERS):
        """Of so many users that follow the first `before`."""
        reserve = f"select usual.reserve({before} + :u, 1);"
        return self.pgbench(f"{reserve}\nselect usual.finish(currval('usual.jobs'), 1);", users)

    def usual_hot(self):
        return self.pgbench("select usual.reserve(7, 1);", 1)

    def sync(self, is_on):
        """Whether a transaction waits for the disk."""
        self.postgres.query(f"alter system set synchronous_commit = {'on' if is_on else 'off'}")
        self.postgres.query("select pg_reload_conf()")

    def pairs(self, first, second):
        """So many rounds of the two in turns. The reservations of one round would slow down the usual way in the next."""
        measured = []
        for _ in range(self.arguments.rounds):
            self.postgres.query("truncate usual.reservations")
            measured.append((first(), second()))
        return measured


def note(findings, names, measured, where=""):
    for place, name in enumerate(names):
        findings.note(name + where, spread([pair[place] for pair in measured], "{:,.0f}/s"))


def judge(findings, what, names, measured, at_least):
    findings.bars.append(Bar(what, ratio(measured), at_least=at_least))
    note(findings, names, measured)


def ratio(measured):
    return median([one / other for one, other in measured])


def measure(bench, findings, port):
    bench.sync(False)
    users = [f"mete.hold, {USERS:,} users", f"the usual way, {USERS:,} users"]
    hot = ["mete.hold, one user", "the usual way, one user"]
    judge(findings, f"holds, {USERS:,} users with {EVENTS:,} events each: mete.hold / the usual way", users,
          bench.pairs(lambda: bench.hold("jobs"), bench.usual), 8)
    judge(findings, "holds, one hot user: mete.hold / the usual way", hot, bench.pairs(bench.hot, bench.usual_hot), 3)
    judge(findings, "holds, 100,000 events a user / 1,000 events a user",
          ["mete.hold, 50 users with 100,000 events", "mete.hold, 50 users with 1,000 events"],
          bench.pairs(lambda: bench.hold("many"), lambda: bench.hold("few")), 0.9)
    jobs = [f"mete.hold and mete.commit, {USERS:,} users", f"the usual way, reservation and event, {USERS:,} users"]
    judge(findings, f"holds and commits, {USERS:,} users with {EVENTS:,} events each: mete / the usual way", jobs,
          bench.pairs(lambda: bench.job("jobs"), bench.usual_job), 4)
    judge(findings, f"holds and commits, {MANY_USERS} users with {MANY_EVENTS:,} events each: mete / the usual way",
          [f"mete.hold and mete.commit, {MANY_USERS} users", f"the usual way, reservation and event, {MANY_USERS} users"],
          bench.pairs(lambda: bench.job("many"), lambda: bench.usual_job(USERS, MANY_USERS)), 4)
    judge(findings, "holds and commits, 100,000 events a user / 1,000 events a user",
          ["mete.hold and mete.commit, 50 users with 100,000 events", "mete.hold and mete.commit, 50 users with 1,000 events"],
          bench.pairs(lambda: bench.job("many"), lambda: bench.job("few")), 0.9)
    for end in ("mete.cancel(:id)", "mete.extend(:id, '1 hour')"):
        measured = [bench.hold_and(end) for _ in range(bench.arguments.rounds)]
        findings.note(f"mete.hold and {end}, {USERS:,} users", spread(measured, "{:,.0f}/s"))
    for period in PERIODS:
        for kind in ("window", "sliding"):
            for _ in range(6):  # one makes the meter, and the sixth takes it from exact times to slots
                bench.postgres.query(f"select count(mete.take('{kind} of {period}', 'user' || u)) from generate_series(1, {USERS}) u")
        names = [f"mete.take of a sliding window, {period}", f"mete.take of a window, {period}"]
        judge(findings, f"takes: a sliding window / a window, of {period}", names,
              bench.pairs(lambda: bench.take(f"sliding of {period}"), lambda: bench.take(f"window of {period}")),  # pylint: disable=cell-var-from-loop
              round(1 / 1.5, 2))
    words = ["HOLD", "jobs", "key:__rand_int__", "TTL", "1h"]
    bench.redis_benchmark(port, words, 20_000)  # now the keys are there
    requests = int(bench.hold("jobs") * bench.arguments.seconds)
    served = ["HOLD through mete serve", "mete.hold by pgbench"]
    judge(findings, "holds through mete serve / pgbench with mete.hold", served,
          bench.pairs(lambda: bench.redis_benchmark(port, words, requests), lambda: bench.hold("jobs")), 0.8)
    takes = ["-P", "16", "TAKE", "jobs", "key:__rand_int__"]
    findings.note("TAKE through mete serve, pipeline 16",
                  spread([bench.redis_benchmark(port, takes, requests) for _ in range(3)], "{:,.0f}/s"))
    bench.sync(True)
    where = "; the disk is waited for"
    for names, first, second in ((users, lambda: bench.hold("jobs"), bench.usual), (hot, bench.hot, bench.usual_hot),
                                 (jobs, lambda: bench.job("jobs"), bench.usual_job),
                                 (served, lambda: bench.redis_benchmark(port, words, requests // 3), lambda: bench.hold("jobs"))):
        measured = bench.pairs(first, second)
        note(findings, names, measured, where)
        findings.note(f"{names[0]} / {names[1]}{where}", f"{ratio(measured):.2f} ×")
    if bench.postgres.query("select count(*) from mete.audit()") != [["0"]]:
        raise RuntimeError("the books are not right after the last run")
    for what, table in (("hold or id that is remembered", "operations"), ("event", "events")):
        [[size]] = bench.postgres.query(f"""
            select (select sum(pg_total_relation_size(coalesce(inhrelid, t.oid))) from pg_class t
                    left join pg_inherits on inhparent = t.oid where t.oid = 'mete.{table}'::regclass) /
              (select count(*) from mete.{table})""")
        findings.note(f"bytes in PostgreSQL for each {what}, indexes included", f"{float(size):,.0f}")


def main():
    arguments = parse_arguments()
    findings = Findings()
    settings = {"fsync": "on", "shared_buffers": "1GB", "max_wal_size": "8GB"}
    try:
        servers.check_program(arguments.program)
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-bench-"))
            postgres = stack.enter_context(Postgres(servers.free_port(), settings))
            bench = Bench(arguments, postgres, directory)
            bench.fill()
            server = stack.enter_context(servers.start_mete_with(arguments.program, ("--store", postgres.url)))
            measure(bench, findings, server.port)
            version = postgres.query("show server_version")[0][0]
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"postgres_store.py: {error}", file=sys.stderr)
        return 1
    facts = [
        f"commit: {report.commit(ROOT)}; PostgreSQL {version}",
        f"{arguments.rounds} rounds of {arguments.seconds} s each; what is compared runs in turns, {CONNECTIONS} connections; {CLIENTS} to mete serve"]
    return page.finish(arguments.output / "postgres.md", ("bench/postgres/postgres_store.py", "postgres"), facts, page.sections(findings), findings)


if __name__ == "__main__":
    sys.exit(main())
