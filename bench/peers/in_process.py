#!/usr/bin/env python3
"""What a decision costs in process: Mete beside governor (Rust) and bucket4j (Java), in one run.

Each program measures the same scenarios and prints a line for each, in nanoseconds of processor time. They run in turns,
so that whatever else the machine does meets all of them; medians are compared. A peer that cannot be built, because its
compiler or its registry is not there, is left out, and so are the bars against it.

usage: in_process.py BUILD_DIRECTORY [--rounds N]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# (what is compared, Mete's scenario, another's scenario or a number of nanoseconds, bar)
BARS = [
    ("handle, hot key, admitted: nanoseconds", "hot_key/admitted", 1, 35),
    ("handle, hot key, denied: nanoseconds", "hot_key/denied", 1, 40),
    ("handle, hot key, admitted / governor's keyed limiter", "hot_key/admitted", "governor hot_key/admitted", 1.0),
    ("handle, hot key, denied / governor's keyed limiter", "hot_key/denied", "governor hot_key/denied", 1.0),
    ("handle, 1 M keys / governor's keyed limiter", "keys_1M", "governor keys_1M", 1.0),
    ("by name, hot key, admitted / a bare increment under the same lock", "by_name/admitted", "mete increment", 3.0),
]
THREADS_BAR = 1.9


def build_governor(directory):
    if shutil.which("cargo") is None:
        return None, "no cargo"
    target = directory / "governor"
    built = subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", target],
                           cwd=HERE / "governor", capture_output=True, text=True)
    if built.returncode != 0:
        return None, (built.stderr.strip().splitlines() or ["cargo build failed"])[0]
    return [str(target / "release" / "mete-peer-governor")], None


def build_bucket4j(directory):
    if shutil.which("mvn") is None or shutil.which("java") is None:
        return None, "no mvn or no java"
    source = directory / "bucket4j"
    shutil.copytree(HERE / "bucket4j", source, dirs_exist_ok=True)
    built = subprocess.run(["mvn", "--quiet", "--batch-mode", "package"], cwd=source, capture_output=True, text=True)
    if built.returncode != 0:
        return None, (built.stdout.strip().splitlines() or ["mvn package failed"])[0]
    return ["java", "-cp", f"{source}/target/peer.jar:{source}/target/lib/*", "peer.InProcess"], None


def measure(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(ns) for name, ns in (line.split() for line in output.splitlines())}


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def print_table(medians):
    names = list(dict.fromkeys(name for scenarios in medians.values() for name in scenarios))
    print("nanoseconds of processor time a decision, medians".ljust(52) + "".join(f"{who:>12}" for who in medians))
    for name in names:
        figures = "".join(f"{medians[who][name]:12.1f}" if name in medians[who] else f"{'–':>12}" for who in medians)
        print(f"  {name:<50}{figures}")


def print_bars(medians):
    missed = False

    def judge(what, measured, sign, bar):
        nonlocal missed
        reached = measured <= bar if sign == "<=" else measured >= bar
        missed = missed or not reached
        print(f"{what:<68}{measured:9.2f} {sign} {bar:6.2f}  {'reached' if reached else 'MISSED'}")

    print(f"\n{'bar':<68}{'measured':>9} {'must be':>9}")
    for what, scenario, other, bar in BARS:
        divisor = other
        if isinstance(other, str):
            who, name = other.split()
            if who not in medians:
                continue
            divisor = medians[who][name]
        judge(what, medians["mete"][scenario] / divisor, "<=", bar)
    threads = 2 * medians["mete"]["threads/one"] / medians["mete"]["threads/two"]
    judge("handle, two threads on two keys / one, by processor time", threads, ">=", THREADS_BAR)
    return missed


def main():
    parser = argparse.ArgumentParser(prog="./x bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--in-process", action="store_true", help="the libraries, in one process each; there is no other yet")
    parser.add_argument("--rounds", type=int, default=9, help="how often each program runs (9)")
    options = parser.parse_args()

    directory = options.build.resolve() / "peers"
    directory.mkdir(exist_ok=True)
    commands = {"mete": [str(options.build.resolve() / "bench" / "mete_peers_bench")]}
    for who, build in (("governor", build_governor), ("bucket4j", build_bucket4j)):
        command, problem = build(directory)
        if command is None:
            print(f"{who} is left out: {problem}", file=sys.stderr)
        else:
            commands[who] = command

    rounds = {who: [] for who in commands}
    for _ in range(options.rounds):
        for who, command in commands.items():
            rounds[who].append(measure(command))
    medians = {
        who: {name: statistics.median(one[name] for one in results) for name in results[0]}
        for who, results in rounds.items()
    }
    print(f"{processor()}, {os.cpu_count()} processors, {options.rounds} rounds in turns")
    print_table(medians)
    sys.exit(1 if print_bars(medians) else 0)


if __name__ == "__main__":
    main()
