#!/usr/bin/env python3
"""Measures how long `mete sync` takes for a million keys, and how much memory, from a real PostgreSQL into a directory, into
Redis and into that PostgreSQL itself; and judges the bars.

Each store is synced when it is empty (every key is new), when all of the keys differ, when 1 % do, and when none does. The tables are printed, and
written to docs/bench/sync.md between its marks. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench/server"), str(ROOT / "bench/durability"), str(ROOT / "tests/integration")]

import page
import report
import servers
from bars import Bar, Findings
from postgres import Postgres

SECONDS_MAX = 30
MEGABYTES_MAX = 200

# A server that holds a million rows in memory, as ./x bench postgres has it.
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--keys", default=1_000_000, type=int, help="to sync (1000000)")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


class Run:
    def __init__(self, arguments, postgres, directory):
        self.program = str(arguments.program)
        self.keys = arguments.keys
        self.postgres = postgres
        self.directory = Path(directory)

    def fill(self):
        self.postgres.query(f"""
            create table files (tenant text, size bigint);
            insert into files select 'tenant-' || lpad(i::text, 9, '0'), i % 1000 + 1 from generate_series(1, {self.keys}) i;
            analyze files""")

    def change(self, every):
        self.postgres.query(f"update files set size = size + 1 where substr(tenant, 8)::bigint % {every} = 0")

    def sync(self, url):
        """One `mete sync`: (its report, seconds, those of its processor, megabytes at most)."""
        config = self.directory / "mete.toml"
        config.write_text(f"""[store]\nurl = {json.dumps(url)}
[[limit]]\nname = "storage"\nkind = "stock"\namount = 1000000
[[sync]]\nlimit = "storage"\nsource = {json.dumps(self.postgres.url)}
query = "select tenant, sum(size) from files group by tenant"\n""")
        started = time.monotonic()
        process = subprocess.Popen([self.program, "sync", "--json", "--config", config], stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told = json.loads(output)
        if process.returncode != 0:
            raise RuntimeError(f"mete sync: {told['message']}")
        return told, time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(run, name, url, findings):
    seconds, megabytes = [], []
    steps = (("every key is new", 0, run.keys), ("every key differs", 1, run.keys), ("1 % differ", 100, run.keys // 100),
             ("none differs", 0, 0))
    for what, every, changed in steps:
        if every:
            run.change(every)
        told, took, processor, memory = run.sync(url)
        if told["keys"] != run.keys or told["changed_keys"] != changed:
            raise RuntimeError(f"{told['changed_keys']} of {told['keys']} keys were changed, and not {changed} of {run.keys}")
        findings.note(f"{name}, {what}", f"{took:.1f} s, {processor:.1f} s of its own processor time, {memory:.0f} MB")
        seconds.append(took)
        megabytes.append(memory)
    findings.bars.append(Bar(f"{name}: seconds for {run.keys:,} keys, the longest", max(seconds), at_most=SECONDS_MAX, unit="s"))
    findings.bars.append(Bar(f"{name}: memory, the most", max(megabytes), at_most=MEGABYTES_MAX, unit="MB"))


def main():
    arguments = parse_arguments()
    findings = Findings()
    try:
        servers.check_program(arguments.program)
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-sync-"))
            postgres = stack.enter_context(Postgres(servers.free_port(), SETTINGS))
            redis = stack.enter_context(servers.start_redis())
            run = Run(arguments, postgres, directory)
            run.fill()
            versions = f"PostgreSQL {postgres.query('show server_version')[0][0]}, {redis.version()}"
            measure(run, "a directory", f"embedded:{directory}/data", findings)
            measure(run, "Redis", f"redis://127.0.0.1:{redis.port}?timeout=10s", findings)
            subprocess.run([run.program, "migrate", postgres.url], check=True, stdout=subprocess.DEVNULL)
            measure(run, "PostgreSQL", postgres.url, findings)
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"sync.py: {error}", file=sys.stderr)
        return 1
    facts = [f"commit: {report.commit(ROOT)}; {versions}", "PostgreSQL with " + ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())]
    return page.finish(arguments.output / "sync.md", ("bench/sync/sync.py", "sync"), facts, page.sections(findings, "Each run"), findings)


if __name__ == "__main__":
    sys.exit(main())
