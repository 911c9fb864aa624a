#!/usr/bin/env python3
"""Runs the tests of a build again and again beside busy loops: a test that fails now and then is wrong.

usage: soak.py BUILD ROUNDS [-- ARGUMENTS of run_tests.py]

Each round is a line of BUILD/soak.jsonl as soon as it has ended, with the names of the tests that failed. The summary at
the end counts all rounds that this file has of the same commit and arguments, so that a soak can be done in pieces.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUSY_LOOPS = 6
RUNNER = Path(__file__).resolve().parent / "run_tests.py"
FAILED_STATUS = 3  # of run_tests.py: tests have failed


def commit():
    """The commit that is checked out, with a mark where files differ from it."""
    answer = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=RUNNER.parent,
                            capture_output=True, text=True)
    return answer.stdout.strip() or "no commit"


def run_round(build, arguments):
    """The counts of run_tests.py with the names of what failed."""
    with tempfile.TemporaryDirectory() as folder:
        tally = Path(folder, "tally")
        status = subprocess.run([sys.executable, RUNNER, build, "--tally", tally, *arguments]).returncode
        if status not in (0, FAILED_STATUS):
            sys.exit(status)
        return json.loads(tally.read_text())


def summary(rounds):
    """What the rounds, the lines of soak.jsonl, say together."""
    tests = sum(each["passed"] + each["failed"] for each in rounds)
    failures = collections.defaultdict(list)
    for number, each in enumerate(rounds, start=1):
        for name in each["failures"]:
            failures[name].append(number)
    good = sum(not each["failures"] for each in rounds)
    lines = [f"{len(rounds)} rounds of {rounds[0]['commit']}, {good} without a failure; {tests} tests, "
             f"{sum(map(len, failures.values()))} failed"]
    for name, numbers in sorted(failures.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"  {len(numbers)} times: {name}, in round {', '.join(map(str, numbers))}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("rounds", type=int)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()

    file = options.build / "soak.jsonl"
    key = {"commit": commit(), "arguments": options.arguments}
    has_failed = False
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(BUSY_LOOPS)]
    try:
        for number in range(1, options.rounds + 1):
            print(f"\n== round {number} of {options.rounds}, beside {BUSY_LOOPS} busy loops", flush=True)
            start = time.monotonic()
            result = run_round(options.build, options.arguments)
            has_failed = has_failed or bool(result["failures"])
            with file.open("a") as lines:
                lines.write(json.dumps({**key, "seconds": round(time.monotonic() - start), **result}) + "\n")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    rounds = [each for each in map(json.loads, file.read_text().splitlines()) if key.items() <= each.items()]
    print("\n" + summary(rounds))
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
