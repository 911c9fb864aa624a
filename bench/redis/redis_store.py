#!/usr/bin/env python3
"""Measures what the Redis store costs: Redis's processor time and memory beside a usual token bucket in Lua, and decisions a
second through `mete serve` beside redis-benchmark; and judges the bars.

It starts one redis-server, and a `mete serve` that uses it, takes the calls of the scripts from Redis's MONITOR, and sends the same for
other keys. The tables are printed, and written to docs/bench/redis.md between its marks. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench/server"), str(ROOT / "bench/durability")]  # servers, measure, report; bars

import calls
import costs
import instructions_in_redis
import kinds
import page
import report
import servers
import throughput
from bars import Findings

# Buckets that stay in use while they are measured, and never run empty.
LIMITS = [calls.Limit(name, 10_000, 864_000) for name in "abc"]
# One that is full again whenever it is taken from.
QUICK_LIMIT = calls.Limit("q", 1_000_000, 1)
KINDS = {"BUCKET": LIMITS[0], "STOCK": calls.Limit("STOCK", 10**12, None, "STOCK"),
         "WINDOW": calls.Limit("long", 10**12, 864_000, "WINDOW"), "CALENDAR": calls.Limit("year", 10**12, "YEAR", "CALENDAR")}
# Of a sliding window of 10 s a slot has 80 ms: nearly every call begins one, and another leaves.
SLIDING = calls.Limit("SLIDING", 1_000_000, 10, "SLIDING")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--rounds", default=15, type=int, help="how often each is measured (15)")
    parser.add_argument("--requests", default=200_000, type=int, help="of each measurement of decisions a second (200000)")
    parser.add_argument("--threads", default=4, type=int, help="of mete serve (4)")
    parser.add_argument("--instructions", action="store_true", help="count the instructions of each call too, with callgrind")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


class Run:
    """The servers, and the calls that are compared."""

    def __init__(self, arguments, redis, mete):
        self.program = arguments.program
        self.rounds = arguments.rounds
        self.requests = arguments.requests
        self.threads = arguments.threads
        self.redis = redis
        self.mete = mete
        self.limit = LIMITS[0]
        with calls.Connection(mete) as client:
            for limit in (*LIMITS, QUICK_LIMIT, SLIDING, *KINDS.values()):
                client.call(*limit.definition)
        with calls.Connection(redis) as connection:
            self.usual = calls.usual_call(connection, self.limit)
            self.usual_full = calls.usual_call(connection, QUICK_LIMIT)
        self.take = self._capture("Mete, one limit", LIMITS[:1])
        self.take_two = self._capture("Mete, two limits", LIMITS[:2])
        self.take_three = self._capture("Mete, three limits", LIMITS)
        self.take_full = self._capture("Mete, one limit", [QUICK_LIMIT])
        self.limits = KINDS
        self.take_of = {kind: self._capture(f"Mete, {kind.lower()}", [limit]) for kind, limit in KINDS.items()}
        self.take_sliding = self._capture("Mete, a sliding window", [SLIDING])

    def _capture(self, title, limits):
        words = " AND ".join(f"{limit.name} KEY" for limit in limits).split()
        return calls.capture(self.redis, self.mete, title, "TAKE", *words)

    def forget_keys(self, connection):
        """All but the definitions."""
        definitions = connection.call("HGETALL", "mete.limits")
        connection.call("FLUSHALL")
        connection.call("HSET", "mete.limits", *definitions)


@contextlib.contextmanager
def running(arguments, start_redis=servers.start_redis, timeout="1s"):
    with start_redis() as redis:
        # What was captured is sent for longer than a server takes a clock for right; and meters are wiped here on purpose.
        store = ("--store", f"redis://127.0.0.1:{redis.port}?timeout={timeout}", "--threads", str(arguments.threads), "--clock-step-max", "0",
                 "--when-wiped", "fresh")
        with servers.start_mete_with(str(arguments.program), store) as mete:
            yield Run(arguments, redis, mete)


def main():
    arguments = parse_arguments()
    findings = Findings()
    try:
        servers.check_program(arguments.program)
        with running(arguments) as run:
            version = run.redis.version()
            costs.measure(run, findings)
            kinds.measure(run, findings)
            throughput.measure(run, findings)
        if arguments.instructions:
            with running(arguments, instructions_in_redis.start, timeout="60s") as run:
                instructions_in_redis.measure(run, findings)
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"redis_store.py: {error}", file=sys.stderr)
        return 1
    facts = [
        f"commit: {report.commit(ROOT)}; {version}",
        f"{arguments.rounds} rounds; what is compared runs in turns, and ratios are medians of those of neighbours: slices of {costs.SLICE} calls, "
        f"or whole\n  runs of redis-benchmark with {throughput.CONNECTIONS} connections"]
    return page.finish(arguments.output / "redis.md", ("bench/redis/redis_store.py", "redis"), facts, page.sections(findings), findings)


if __name__ == "__main__":
    sys.exit(main())
