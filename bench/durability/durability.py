#!/usr/bin/env python3
"""Measures what it costs `mete serve` to keep everything on disk, beside redis-server with its log, and judges the bars.

All data lies in one fresh directory, on the disk of --directory, and is removed at the end. The tables are printed, and written to
docs/bench/durability.md. The exit status is 1 if a bar is missed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "bench/server"))  # servers, measure, report

import recovery
import report
import servers
import snapshots
import writing
from bars import Findings, spread

SYNCS = 200


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--rounds", default=5, type=int, help="how often each is measured (5)")
    parser.add_argument("--seconds", default=1.0, type=float, help="length of each measurement (1)")
    parser.add_argument("--meters", default=10_000_000, type=int, help="of the snapshot (10000000)")
    parser.add_argument("--records", default=5_000_000, type=int, help="of the journal (5000000)")
    parser.add_argument("--directory", default=tempfile.gettempdir(), type=Path, help="where to put the data")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


class Run:
    def __init__(self, arguments, directory):
        self.program = str(arguments.program)
        self.rounds = arguments.rounds
        self.duration = f"{round(arguments.seconds * 1000)}ms"
        self.meters = arguments.meters
        self.records = arguments.records
        self.directory = Path(directory)
        self.filled = self.directory / "snapshot"

    def folder(self, name):
        """A new one."""
        path = self.directory / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path


def measure_disk(run, findings):
    times = []
    with open(run.directory / "probe", "wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            started = time.monotonic()
            os.fdatasync(file.fileno())
            times.append(1e6 * (time.monotonic() - started))
    kind = subprocess.run(["stat", "--file-system", "--format=%T", run.directory], capture_output=True, text=True, check=True)
    findings.note(f"the disk ({kind.stdout.strip()}): a sync of 4 KiB, μs", spread(times))


def sections(findings):
    bars = report.table(["bar", "measured", "must be", "verdict"], [bar.cells for bar in findings.bars])
    return [f"Bars\n\n{bars}", "Medians (least–most)\n\n" + report.table(["what", "measured"], findings.rows)]


def markdown(arguments, findings):
    return f"""# What durability costs

Written by `bench/durability/durability.py` (`./x bench durability` runs it); do not edit.

- machine: {report.machine()}
- commit: {report.commit(ROOT)}
- {arguments.rounds} rounds of {arguments.seconds:g} s each, in turns; {writing.CONNECTIONS} connections unless it says otherwise
- Redis with `appendonly yes`, and `appendfsync` as it says; Mete with `--store embedded:DIRECTORY` and nothing else
- recovery: from the start of the process to its first answer, less the same with nothing to recover; the files are in the
  system's cache, since they were written just before

""" + "\n\n".join(sections(findings)) + "\n"


def main():
    arguments = parse_arguments()
    findings = Findings()
    try:
        servers.check_program(arguments.program)
        with tempfile.TemporaryDirectory(prefix="mete-durability-", dir=arguments.directory) as directory:
            run = Run(arguments, directory)
            measure_disk(run, findings)
            for part in (writing, recovery, snapshots):
                part.measure(run, findings)
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"durability.py: {error}", file=sys.stderr)
        return 1
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "durability.md").write_text(markdown(arguments, findings), encoding="utf-8")
    print("\n\n".join(sections(findings)))
    return 0 if all(bar.is_reached for bar in findings.bars) else 1


if __name__ == "__main__":
    sys.exit(main())
