#!/usr/bin/env python3
"""Runs clang-tidy over sources, as many at a time as there are cores; fails if it complains.

usage: run_clang_tidy.py BUILD [--seconds-max N] FILE...

BUILD has the compile_commands.json. Sources that are compiled together there are checked together, because most of the
time goes into the headers that they share: whoever asks for one of them gets its neighbours as well. A header is checked
with one source that includes it. The rules are those of the sources' own folder. After N seconds nothing further is
begun, with the headers last; how much was left out is said.
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
NAMED = re.compile(r'^#include ["<](\S+\.h)[">]', re.MULTILINE)
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
HEADERS = ("include", "src", "tests", "bench")


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
    """The translation units that have these files, each once: a file itself, or a list of includes of it and others. A
    header is had by what includes it, at best by a unit that is wanted anyway."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        compiled = {entry["file"] for entry in json.load(commands)}
    unit_of = {file: unit for unit in compiled for file in sources_of(unit)}
    wanted = [os.path.realpath(file) for file in files]
    headers = [file for file in wanted if file.endswith(".h")]
    sources = [file for file in wanted if not file.endswith(".h")]
    if strangers := [file for file in sources if file not in unit_of]:
        sys.exit(f"clang-tidy: nothing compiles {', '.join(strangers)}")
    units = sorted({unit_of[file] for file in sources})
    included = {source: included_by(source) for source in sorted(unit_of)}
    for header in headers:
        users = sources_with(header, included)
        if not users:
            print(f"clang-tidy: nothing includes {os.path.relpath(header)}")
        elif not any(unit_of[user] in units for user in users):
            units.append(unit_of[users[0]])
    return units


def included_by(file):
    """What it names in its include lines: "core/meter.h", "mete/limit.h"."""
    with open(file, encoding="utf-8") as lines:
        return NAMED.findall(lines.read())


def sources_with(header, included):
    """Those that include it, with its own source and its test in front; if there are none, those that include a header
    that does. Headers that are included by these are not followed any further than it takes."""
    stem = os.path.splitext(os.path.basename(header))[0]
    own_first = lambda source: (os.path.splitext(os.path.basename(source))[0] not in (stem, stem + "_test"), source)
    seen, names = {header}, [header]
    while names:
        users = [source for source, named in included.items() if any(is_named(name, named) for name in names)]
        if users:
            return sorted(users, key=own_first)
        beside = headers_below(ROOT)
        names = [other for other in beside if other not in seen and any(is_named(name, included_by(other)) for name in names)]
        seen.update(names)
    return []


def is_named(header, names):
    return any(header.endswith("/" + name) for name in names)


def headers_below(root):
    return [os.path.join(folder, name) for top in HEADERS for folder, _, names in os.walk(os.path.join(root, top))
            for name in sorted(names) if name.endswith(".h")]


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
