#!/usr/bin/env python3
"""Measures what escrow costs and what it gives: the processor time of a decision from the local share beside that of the same take
without escrow, and of INCR on a node beside that on a plain server; latencies of a node whose shared store is 20 ms away; how much of a
limit three unequal nodes use, and how soon one has the last units that others do not use; and judges the bars.

It starts redis-server, etcd and several `mete serve`. The tables are printed, and written to docs/bench/escrow.md between its marks. The
exit status is 1 if a bar is missed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench/server"), str(ROOT / "bench/durability")]  # servers, measure, report; bars, page

import cost
import far
import last
import nodes
import page
import report
import servers
import usage
from bars import Findings

PARTS = ("cost", "counters", "far", "last", "usage")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--rounds", default=9, type=int, help="how often costs are measured (9)")
    parser.add_argument("--quick", action="store_true", help="windows of 10 s in place of a minute, and fewer; writes no page")
    parser.add_argument("--only", choices=PARTS, help="one part alone; writes no page")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


def measure(arguments, findings):
    """What takes less than a minute is measured while the next window is waited for."""
    wanted = (arguments.only,) if arguments.only else PARTS
    if "cost" in wanted:
        cost.measure_in_process(arguments, findings)
        cost.measure_through_server(arguments, findings)
    if "counters" in wanted:
        cost.measure_counters(arguments, findings)
    if "far" in wanted:
        far.measure(arguments, nodes.redis, findings)
    if "usage" in wanted:
        usage.measure(arguments, findings)
    if "last" in wanted:
        last.measure(arguments, findings)
    if "far" in wanted:
        far.measure(arguments, nodes.etcd, findings)


def simulate(program):
    """More nodes than a machine holds, by the simulator, if the program has one; it prints and judges its own figures. True: all reached."""
    if subprocess.run([program, "sim", "--help"], capture_output=True, check=False).returncode != 0:
        return True
    return subprocess.run([program, "sim", "--measure"], check=False).returncode == 0


def main():
    arguments = parse_arguments()
    findings = Findings()
    try:
        servers.check_program(arguments.program)
        measure(arguments, findings)
        is_simulated = arguments.only is not None or simulate(str(arguments.program))
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"escrow.py: {error}", file=sys.stderr)
        return 1
    text = page.sections(findings)
    if arguments.quick or arguments.only:
        print(text)
        return 0 if is_simulated and all(bar.is_reached for bar in findings.bars) else 1
    facts = [f"commit: {report.commit(ROOT)}",
             f"{arguments.rounds} rounds of each cost through the server, five times as many in one process; what is compared runs in turns, and ratios are\n"
             "  medians of those of neighbours"]
    status = page.finish(arguments.output / "escrow.md", ("bench/escrow/escrow.py", "escrow"), facts, text, findings)
    return status if is_simulated else 1


if __name__ == "__main__":
    sys.exit(main())
