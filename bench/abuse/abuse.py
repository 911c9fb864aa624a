#!/usr/bin/env python3
"""What innocent clients notice of each abuse of tests/abuse: their p99 beside their quiet p99 of the same run.

    ./x bench abuse [--seconds N] [CASE]...

Without names all cases are played, and the table is written to docs/bench/abuse.md between its marks. The exit status
is 1 if a bar is missed.
"""

import argparse
import contextlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[1:1] = [str(ROOT / "tests/abuse"), str(ROOT / "bench/server"), str(ROOT / "bench/durability")]

import frame
import harness
import page
import report

RATIO_MAX = {frame.STRANGER: 2, frame.ADMIN: 2, frame.USE: 5}
WORST_MAX_S = 0.050


class Owner:
    """What a server's life is bound to, where there is no TestCase."""

    def __init__(self, stack):
        self.addCleanup = stack.callback


def bars_of(told):
    yield "p99 beside the quiet p99", told.ratio, RATIO_MAX[told.case.by]
    yield "worst, in ms", told.abused.worst * 1000, WORST_MAX_S * 1000
    yield from told.checks
    yield from told.case.bars()


def play(case_type, seconds):
    with contextlib.ExitStack() as stack:
        return frame.run(case_type, Owner(stack), seconds, seconds)


def rows_of(told):
    for what, value, at_most in bars_of(told):
        yield [type(told.case).__name__, what, f"{value:.1f}", f"≤ {at_most:g}", "reached" if value <= at_most else "MISSED"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="of abuse, and as many of quiet before it (10)")
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="some of them, by the names of their classes; writes no page")
    options = parser.parse_args()
    harness.program = str(options.program)
    frame.is_long = True
    bars, waits = [], []
    for case_type in frame.cases():
        if not case_type.what or (options.cases and case_type.__name__ not in options.cases):
            continue
        told = play(case_type, options.seconds)
        us = [f"{value * 1e6:,.0f}" for value in (told.quiet.p99, told.abused.p99, told.abused.worst)]
        notes = ", ".join(f"{name} {value:,.0f}" for name, value in told.case.notes.items())
        waits.append([case_type.__name__, case_type.what, case_type.by, *us, notes])
        bars += rows_of(told)
        print(report.table(["case", "bar", "measured", "must be", "verdict"], list(rows_of(told))), notes, sep="\n", flush=True)
    text = "Bars\n\n" + report.table(["case", "bar", "measured", "must be", "verdict"], bars)
    text += "\n\nHow long an innocent client waits, in us\n\n" + report.table(
        ["case", "what is done", "by", "quiet p99", "p99 beside it", "worst beside it", "what the abuser tells"], waits)
    if not options.cases:
        facts = [f"commit: {report.commit(ROOT)}", f"{options.seconds:g} s of each abuse, and as many of quiet before it"]
        page.write(options.output / "abuse.md", ("bench/abuse/abuse.py", "abuse"), facts, text)
    return 1 if any(bar[-1] == "MISSED" for bar in bars) else 0


if __name__ == "__main__":
    sys.exit(main())
