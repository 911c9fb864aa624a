#!/usr/bin/env python3
"""Runs clang-tidy over sources, as many at a time as there are cores; fails if it complains.

usage: run_clang_tidy.py BUILD [--seconds-max N] FILE...

BUILD has the compile_commands.json. After N seconds no further file is begun; how many were left out is said.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# What clang-tidy says of itself, not of the source.
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated|^Suppressed |^Use -header-filter")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds-max", type=float, default=float("inf"))
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds_max
    width = len(str(len(arguments.files)))

    def check(numbered):
        number, file = numbered
        if time.monotonic() >= end:
            return None
        answer = subprocess.run(["clang-tidy-14", "-p", arguments.build, "--quiet", file], capture_output=True, text=True)
        complaints = [line for line in (answer.stdout + answer.stderr).splitlines() if line and not NOISE.match(line)]
        print(f"[{number:{width}}/{len(arguments.files)}] {file}", *complaints, sep="\n", flush=True)
        return answer.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, enumerate(arguments.files, start=1)))
    if left_out := results.count(None):
        print(f"clang-tidy: {left_out} of {len(results)} files are left out for lack of time; ./x lint has the time")
    if bad := results.count(False):
        sys.exit(f"clang-tidy: {bad} of {len(results)} files have complaints")


if __name__ == "__main__":
    main()
