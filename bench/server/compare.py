#!/usr/bin/env python3
"""Compares the built `mete serve` with redis-server, and judges the bars that Mete must reach.

They run on free ports of this machine, one for each scenario, and `mete bench` loads them in turns. The tables are printed, and written
to docs/bench/server.md with a plot, docs/bench/server.svg. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import sys
from functools import partial
from pathlib import Path

import measure
import plot
import report
import scenarios
import servers

ROOT = Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--rounds", default=5, type=int, help="how often each is measured (5)")
    parser.add_argument("--seconds", default=1.0, type=float, help="length of each measurement (1)")
    parser.add_argument("--pipelines", default=list(scenarios.PIPELINES), type=int, nargs="+",
                        help="requests sent at once (1 16 64 256)")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


def measure_all(arguments):
    program = str(arguments.program)
    starts = {"Mete": partial(servers.start_mete, program), "Redis": servers.start_redis}
    results = measure.Results(tuple(arguments.pipelines))
    for start in starts.values():
        measure.measure_start(start, results)
    for start in starts.values():
        with start() as server:
            measure.measure_idle_connections(server, results)
    with contextlib.ExitStack() as stack:
        running = {contestant: stack.enter_context(starts[contestant.server]()) for contestant in scenarios.CONTESTANTS}
        bench = measure.Bench(program, running, arguments.seconds)
        measure.fill(bench, results)
        measure.measure_slices(bench, results, arguments.rounds)
        measure.measure_latencies(bench, results, arguments.rounds)
        versions = sorted({server.version() for server in running.values()})
    return results, versions


def write(arguments, results, versions):
    arguments.output.mkdir(parents=True, exist_ok=True)
    facts = {"commit": report.commit(ROOT), "versions": versions, "rounds": arguments.rounds,
             "seconds": arguments.seconds}
    (arguments.output / "server.md").write_text(report.markdown(results, facts), encoding="utf-8")
    if picture := plot.draw(results):
        (arguments.output / "server.svg").write_text(picture, encoding="utf-8")


def main():
    arguments = parse_arguments()
    try:
        servers.check_program(arguments.program)
        measure.raise_descriptor_limit()
        results, versions = measure_all(arguments)
    except (servers.Missing, RuntimeError, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 1
    write(arguments, results, versions)
    print("\n\n".join([*report.tables(results), report.verdict(results)]))
    return 0 if all(bar.verdict == "reached" for bar in scenarios.all_bars(results)) else 1


if __name__ == "__main__":
    sys.exit(main())
