#!/usr/bin/env python3
"""Counts the instructions that `mete serve` executes for one request, by kind of request, with callgrind.

Unlike processor time they do not depend on what else the machine is doing, so they tell what a change to the code has done. The kernel's
are not among them, and all cost the same here: a request that waits for memory is dearer than it looks.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import servers

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ("ping", "incr", "take-bucket", "take-window", "take-calendar", "take-stock", "take-and", "cl-throttle", "increx", "hold-commit",
             "http-take")
REQUESTS = 100_000
KEYS = 1_000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS, help="of mete bench (" + " ".join(SCENARIOS) + ")")
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--beside", type=Path, metavar="PROGRAM", help="another build, to compare with: the ratio is told as well")
    parser.add_argument("--pipeline", default=64, type=int, help="requests sent at once (64)")
    parser.add_argument("--functions", default=0, type=int, metavar="N", help="show the N dearest functions of each")
    return parser.parse_args()


def start(program, record):
    port, http_port = servers.free_port(), servers.free_port()
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={record}", program, "serve",
               "--resp", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http_port}", "--data", ""]
    return servers.Server("mete under callgrind", command, port, http_port)


def load(program, server, scenario, pipeline, requests, *options):
    at_once = 1 if scenario.startswith("http") else pipeline  # HTTP has no pipeline.
    command = [program, "bench", "--server", server.address, "--http", f"http://127.0.0.1:{server.http_port}",
               "--scenario", scenario, "--connections", "1", "--pipeline", str(at_once), "--keys", str(KEYS),
               "--warm-up", "0ms", "--requests", str(requests), "--pid", str(server.process.pid), "--json", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def count(program, scenario, pipeline, functions):
    """Instructions per request, and the lines of the dearest functions."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "callgrind.out"
        with start(program, record) as server:
            def control(*words):
                subprocess.run(["callgrind_control", *words, str(server.process.pid)], check=True,
                               capture_output=True)
            load(program, server, scenario, pipeline, REQUESTS, "--fill")
            control("-i", "on")
            load(program, server, scenario, pipeline, REQUESTS)
            control("-i", "off")
        total = int(re.search(r"^totals: (\d+)", record.read_text(), re.MULTILINE)[1])
        return total / REQUESTS, dearest(record, functions)


def dearest(record, functions):
    if functions == 0:
        return []
    table = subprocess.run(["callgrind_annotate", "--threshold=100", record], capture_output=True, text=True,
                           check=True).stdout
    lines = []
    for number, name in re.findall(r"^\s*([\d,]+) \([^)]*\)\s+(.*)$", table, re.MULTILINE)[1:functions + 1]:
        lines.append(f"{int(number.replace(',', '')) / REQUESTS:10.1f}  {name.split(' [')[0][:150]}")
    return lines


def main():
    arguments = parse_arguments()
    if shutil.which("callgrind_control") is None:
        print("instructions.py: no valgrind: ./x bench instructions installs it, or: apt-get install valgrind", file=sys.stderr)
        return 1
    os.environ.pop("METE_SERVER", None)
    print(f"instructions per request at pipeline {arguments.pipeline}, over HTTP one by one")
    for scenario in arguments.scenarios:
        number, lines = count(str(arguments.program), scenario, arguments.pipeline, arguments.functions)
        beside = ""
        if arguments.beside:
            other, _ = count(str(arguments.beside), scenario, arguments.pipeline, 0)
            beside = f"  ({number / other:.2f} × {other:.0f})"
        print(f"{number:8.0f}  {scenario}{beside}", *lines, sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
