#!/usr/bin/env python3
"""Runs clang-tidy over sources, as many at a time as there are cores; fails if it complains.

usage: run_clang_tidy.py BUILD [--seconds-max N] FILE...

BUILD has the compile_commands.json. Sources that are compiled together there are checked together, because most of the
time goes into the headers that they share: whoever asks for one of them gets its neighbours as well. The rules are those
of the sources' own folder. After N seconds nothing further is begun; how much was left out is said.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# What clang-tidy says of itself, not of the source.
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated|^Suppressed |^Use -header-filter")
INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds-max", type=float, default=float("inf"))
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds_max
    units = units_of(arguments.build, arguments.files)
    width = len(str(len(units)))

    def check(numbered):
        number, unit = numbered
        if time.monotonic() >= end:
            return None
        command = ["clang-tidy-14", "-p", arguments.build, "--quiet", f"--config-file={rules_of(unit)}", unit]
        answer = subprocess.run(command, capture_output=True, text=True)
        complaints = [line for line in (answer.stdout + answer.stderr).splitlines() if line and not NOISE.match(line)]
        print(f"[{number:{width}}/{len(units)}] {os.path.relpath(unit)}", *complaints, sep="\n", flush=True)
        return answer.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, enumerate(units, start=1)))
    if left_out := results.count(None):
        print(f"clang-tidy: {left_out} of {len(results)} units are left out for lack of time; ./x lint has the time")
    if bad := results.count(False):
        sys.exit(f"clang-tidy: {bad} of {len(results)} units have complaints")


def units_of(build, files):
    """The translation units that have these files, each once: a file itself, or a list of includes of it and others."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        compiled = {entry["file"] for entry in json.load(commands)}
    unit_of = {file: unit for unit in compiled for file in sources_of(unit)}
    wanted = [os.path.realpath(file) for file in files]
    if strangers := [file for file in wanted if file not in unit_of]:
        sys.exit(f"clang-tidy: nothing compiles {', '.join(strangers)}")
    return sorted({unit_of[file] for file in wanted})


def sources_of(unit):
    """The files of which a translation unit is made."""
    if "/Unity/" not in unit:
        return [unit]
    with open(unit, encoding="utf-8") as lines:
        return INCLUDED.findall(lines.read())


def rules_of(unit):
    """The nearest .clang-tidy above its sources, which are all of one folder."""
    folder = os.path.dirname(sources_of(unit)[0])
    while not os.path.exists(os.path.join(folder, ".clang-tidy")):
        folder = os.path.dirname(folder)
    return os.path.join(folder, ".clang-tidy")


if __name__ == "__main__":
    main()
