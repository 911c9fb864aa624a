#!/usr/bin/env python3
"""Measures how long a build takes, and what it is spent on. `./x build --times` runs it.

usage: build_times.py REPOSITORY [--keep FOLDER]

All of it happens in a fresh clone of what is committed, without ccache: until ./x run answers; from a changed line until
its unit tests have run; then what modules, sources and headers cost. It prints tables of Markdown, writes the first of
them into CONTRIBUTING.md, and takes some ten minutes on two cores. --keep leaves the clone in FOLDER.
"""

import argparse
import collections
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from write_times import write_times

RUN_SECONDS_MAX = 360
# A file in which a line is changed, the folder of its unit tests, and how many seconds it may take.
EDITS = [
    ("src/core/bucket.cc", "unit/core", 10),
    ("src/engine/engine.cc", "unit/engine", 10),
    ("src/server/doors/resp/resp_session.cc", "unit/server", 10),
    ("src/escrow/share.cc", "unit/escrow", 10),
    ("include/mete/limit.h", "unit/core", 90),
]
ROWS = 20
# No more compilers than cores: what a source takes is then its own time.
ENVIRONMENT = {**os.environ, "CCACHE_DISABLE": "1", "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count())}


SAID = []


def say(text=""):
    print(text, flush=True)
    SAID.append(text)


def say_columns(*names):
    say()
    say_row(*names)
    say_row(*["---"] * len(names))


def say_row(*cells):
    say(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else str(cell) for cell in cells)} |")


def say_measured(command, seconds, seconds_max):
    say_row(command, f"{seconds:.0f}", seconds_max, "reached" if seconds <= seconds_max else "MISSED")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def measure_run(clone):
    port = free_port()
    start = time.monotonic()
    log = clone / "run.log"
    with log.open("w") as output:
        server = subprocess.Popen(["./x", "run", "--resp", f"127.0.0.1:{port}", "--http", "off", "--data", ""], cwd=clone,
                                  env=ENVIRONMENT, stdout=output, stderr=output)
    while not answers(port):
        if server.poll() is not None:
            sys.exit(f"build_times: ./x run has ended:\n{log.read_text()[-3000:]}")
        time.sleep(0.1)
    seconds = time.monotonic() - start
    server.terminate()
    server.wait()
    say_measured("`./x run` in a fresh clone, until it answers", seconds, RUN_SECONDS_MAX)


# --- What the time is spent on ---------------------------------------------------------------------------------------


def seconds_by_object(build):
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith((".o", ".gch")):
            seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def lines_of(words, directory):
    """How many lines the preprocessor hands to the compiler, without the precompiled headers."""
    text = subprocess.run([*words, "-E", "-P"], cwd=directory, capture_output=True, text=True, env=ENVIRONMENT).stdout
    return text.count("\n")


def preprocess_words(command):
    """A compile command up to its output, as one for the preprocessor alone."""
    words = shlex.split(command)
    words = words[words.index(next(word for word in words if word.endswith(("c++", "g++")))):]
    result, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-include", "-MF", "-MT"):
            skip = True
        elif word not in ("-c", "-MD", "-Winvalid-pch", "-fpch-preprocess"):
            result.append(word)
    return result


def print_sources(build, pool):
    seconds = seconds_by_object(build)
    commands = json.loads((build / "compile_commands.json").read_text())
    rows = []
    for entry in commands:
        match = re.search(r" -o (\S+)", entry["command"])
        if match and match[1] in seconds:
            rows.append((match[1], seconds[match[1]], preprocess_words(entry["command"])))
    lines = list(pool.map(lambda row: lines_of(row[2], build), rows))
    modules = collections.defaultdict(lambda: [0, 0.0, 0])
    for (output, each_seconds, _), each_lines in zip(rows, lines):
        module = re.search(r"/mete_(\w+)\.dir/", output)
        total = modules[module[1] if module else output]
        total[0] += 1
        total[1] += each_seconds
        total[2] += each_lines
    say_columns("module", "translation units", "seconds", "lines read")
    for name, (count, total, total_lines) in sorted(modules.items(), key=lambda item: -item[1][1]):
        say_row(name, count, f"{total:.1f}", total_lines)
    say_row("all", len(rows), f"{sum(row[1] for row in rows):.1f}", sum(lines))
    say_columns("the translation units that take longest", "seconds", "lines read")
    for (output, each_seconds, _), each_lines in sorted(zip(rows, lines), key=lambda row: -row[0][1])[:ROWS]:
        say_row(re.sub(r".*/mete_", "", output), f"{each_seconds:.1f}", each_lines)
    return rows


def print_headers(build, clone, rows, pool):
    users = collections.Counter()
    listing = subprocess.run(["ninja", "-t", "deps"], cwd=build, capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if line.startswith("    ") and line.endswith(".h"):
            path = os.path.realpath(build / line.strip())
            if path.startswith(f"{clone}/src/") or path.startswith(f"{clone}/include/"):
                users[path] += 1
    words = next(row[2] for row in rows if "mete_server" in row[0])[:-1]
    lines = dict(zip(users, pool.map(lambda path: lines_of([*words, "-x", "c++", path], build), users)))
    say_columns("our headers that cost most", "lines read", "by translation units")
    for path in sorted(users, key=lambda path: -users[path] * lines[path])[:ROWS]:
        say_row(os.path.relpath(path, clone), lines[path], users[path])


# --- From a changed line to its tests --------------------------------------------------------------------------------


def run_unit_tests(clone, folder):
    start = time.monotonic()
    answer = subprocess.run(["./x", "test", folder], cwd=clone, env=ENVIRONMENT, capture_output=True, text=True)
    if answer.returncode != 0:
        sys.exit(f"build_times: ./x test {folder} fails:\n{answer.stdout[-3000:]}{answer.stderr[-3000:]}")
    return time.monotonic() - start


def measure_edits(clone):
    for folder in dict.fromkeys(folder for _, folder, _ in EDITS):
        run_unit_tests(clone, folder)  # What was there before the change is built.
    for path, folder, seconds_max in EDITS:
        file = clone / path
        file.write_text(file.read_text() + "\n// A changed line.\n")
        say_measured(f"`./x test {folder}` after a change of `{path}`", run_unit_tests(clone, folder), seconds_max)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    clone = Path(os.path.realpath(arguments.keep or tempfile.mkdtemp())) / "mete"
    try:
        subprocess.run(["git", "clone", "--quiet", arguments.repository, clone], check=True)
        commit = subprocess.run(["git", "log", "-1", "--format=%h"], cwd=clone, capture_output=True, text=True).stdout.strip()
        say(f"commit {commit}, {os.cpu_count()} cores, without ccache")
        say_columns("command", "seconds", "at most", "")
        measure_run(clone)
        measure_edits(clone)
        write_times(arguments.repository, "./x build --times", "\n".join(SAID))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            print_headers(clone / "build", clone, print_sources(clone / "build", pool), pool)
    finally:
        if not arguments.keep:
            shutil.rmtree(clone.parent, ignore_errors=True)


if __name__ == "__main__":
    main()
