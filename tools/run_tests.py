#!/usr/bin/env python3
"""Runs the tests of a build: many cases in one process, as many processes as there are cores, the longest first.

usage: run_tests.py BUILD [--jobs N] [--seconds-max N] [--tally FILE] [--list] [--folder FOLDER]... [PATTERN]...

A test is named by its folder and its case: unit.core.Bucket.Refills, integration.http. FOLDER is one below tests/, such
as unit/core, and PATTERN a regular expression that is looked for in the names. CMake says which programs there are
(ctest --show-only). A program of the label "cases" is a GoogleTest program: its cases are shared among a few processes,
so that what a case needs, such as a PostgreSQL, is started once in each. A case that crashes or hangs fails, and a new
process goes on with the cases behind it.

How long each test took is kept in BUILD/test_seconds.json: the next run begins with the longest.
"""

import argparse
import collections
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from itertools import accumulate
from pathlib import Path

PROGRESS_SECONDS = 30
OUTPUT_MAX = 200_000  # characters of one process that are kept for a report
FILTER_MAX = 100_000  # characters of one argument; Linux takes 128 KiB
SLOWEST = 25
END_SECONDS_MAX = 30  # from a process' last word to its end
FAILED_STATUS = 3  # tests have failed; other statuses than 0 say that they could not be run
SPLIT_SECONDS = 3  # a program that takes less than this in all is not worth a second process

RUN = re.compile(r"\[ RUN      \] (\S+)")
# "[       OK ] Bucket.Refills (3 ms)"; and "[  FAILED  ] A/B.C/0, where GetParam() = … (3 ms)", where the parameter may
# take several lines, so that the end of the line is not always there.
END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)")
MILLISECONDS = re.compile(r"\((\d+) ms\)$")
UNITTEST_SKIPPED = re.compile(r"^OK \(skipped=(\d+)\)|^FAILED .*skipped=(\d+)", re.MULTILINE)


class Program:
    """What CMake has registered as one test: a GoogleTest program, or a script that is one test."""

    def __init__(self, entry):
        self.name = entry["name"]
        self.command = entry.get("command")  # None: it is not built
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        self.has_cases = "cases" in properties.get("LABELS", [])
        self.cost = float(properties.get("COST", 1))
        self.environment = dict(os.environ)
        for setting in properties.get("ENVIRONMENT", []):
            name, _, value = setting.partition("=")
            self.environment[name] = value
        self.folder = properties.get("WORKING_DIRECTORY")

    def is_below(self, folders):
        path = self.name.replace(".", "/")
        return not folders or any(path == folder or path.startswith(folder + "/") for folder in folders)

    def list_cases(self):
        listing = subprocess.run([*self.command, "--gtest_list_tests"], env=self.environment, cwd=self.folder,
                                 capture_output=True, text=True, check=True).stdout
        suite = ""
        for line in listing.splitlines():
            words = line.split("#")[0].strip()
            if line.startswith("  "):
                if "DISABLED_" not in words:
                    yield suite + words
            elif words.endswith("."):
                suite = words


class Batch:
    """What one process runs: some cases of a program, or a script (no cases)."""

    def __init__(self, program, cases, seconds):
        self.program = program
        self.cases = cases
        self.seconds = seconds


class Outcome:
    def __init__(self, name, status, seconds, output=""):
        self.name = name
        self.status = status  # "passed", "failed" or "skipped"
        self.seconds = seconds
        self.output = output


# --- What to run -----------------------------------------------------------------------------------------------------


def programs_of(build, folders):
    answer = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True)
    if answer.returncode != 0:
        sys.exit(f"run_tests: ctest cannot list the tests of {build}: {answer.stderr.strip()}")
    entries = json.loads(answer.stdout)["tests"]
    programs = [program for program in map(Program, entries) if program.is_below(folders)]
    if missing := [program.name for program in programs if not program.command]:
        sys.exit(f"run_tests: not built in {build}: {', '.join(missing)}")
    return programs


def group_of(case):
    """Cases of one group share what they start: those on one store (".../postgres"), else those of one test suite."""
    suite, _, name = case.partition(".")
    _, _, parameter = name.partition("/")
    return parameter.split("_")[0] if parameter and not parameter[0].isdigit() else suite


def batches_of(program, cases, jobs, known_seconds):
    seconds = {case: known_seconds.get(f"{program.name}.{case}", program.cost / len(cases)) for case in cases}
    total = sum(seconds.values())
    if total < SPLIT_SECONDS or jobs == 1:
        return [Batch(program, cases, total)]
    groups = collections.defaultdict(list)
    for case in cases:
        groups[group_of(case)].append(case)
    # Each group stays together unless it is more than a process' share by itself.
    share = total / jobs
    pieces = []
    for group in groups.values():
        count = max(1, min(len(group), round(sum(seconds[case] for case in group) / share + 0.49)))
        pieces += [group[start::count] for start in range(count)]
    pieces.sort(key=lambda piece: -sum(seconds[case] for case in piece))
    batches = [Batch(program, [], 0.0) for _ in range(jobs)]
    for piece in pieces:
        lightest = min(batches, key=lambda batch: batch.seconds)
        lightest.cases += piece
        lightest.seconds += sum(seconds[case] for case in piece)
    return [batch for batch in batches if batch.cases]


def plan(programs, patterns, jobs, known_seconds):
    batches = []
    for program in programs:
        if not program.has_cases:
            if matches(program.name, patterns):
                batches.append(Batch(program, [], known_seconds.get(program.name, program.cost)))
            continue
        cases = [case for case in program.list_cases() if matches(f"{program.name}.{case}", patterns)]
        if cases:
            batches += batches_of(program, cases, jobs, known_seconds)
    return sorted(batches, key=lambda batch: -batch.seconds)


def matches(name, patterns):
    return not patterns or any(pattern.search(name) for pattern in patterns)


# --- Running ---------------------------------------------------------------------------------------------------------


class Process:
    """A child whose output is read line by line, and who does not outlive its time or leave children behind."""

    def __init__(self, program, arguments):
        self.child = subprocess.Popen([*program.command, *arguments], env=program.environment, cwd=program.folder,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      start_new_session=True)
        self.timed_out = False

    def lines(self, seconds_max):
        """Yields what it prints. Ends it when it has printed nothing that reset the clock (send True) for too long."""
        selector = selectors.DefaultSelector()
        selector.register(self.child.stdout, selectors.EVENT_READ)
        deadline = time.monotonic() + seconds_max
        rest = b""
        while True:
            if not selector.select(max(0.0, min(1.0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    self.timed_out = True
                    break
                if self.child.poll() is not None:
                    break  # Something that it has started still holds its output.
                continue
            data = os.read(self.child.stdout.fileno(), 65536)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                if (yield line.decode(errors="replace")):
                    deadline = time.monotonic() + seconds_max
        if rest:
            yield rest.decode(errors="replace")

    def end(self):
        """Its exit status; whatever it has started ends with it."""
        if not self.timed_out:
            try:
                self.child.wait(timeout=END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.timed_out = True
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.stdout.close()
        return self.child.wait()


def why_ended(process, status, seconds_max):
    if process.timed_out:
        return f"it took longer than {seconds_max} s"
    return f"it was ended by signal {-status}" if status < 0 else f"its exit status is {status}"


def run_script(batch, seconds_max):
    start = time.monotonic()
    process = Process(batch.program, [])
    output = list(process.lines(seconds_max))
    status = process.end()
    text = "\n".join(output)[-OUTPUT_MAX:]
    seconds = time.monotonic() - start
    if status != 0 or process.timed_out:
        text += f"\n{batch.program.name}: {why_ended(process, status, seconds_max)}"
        yield Outcome(batch.program.name, "failed", seconds, text)
        return
    yield Outcome(batch.program.name, "passed", seconds)
    if skipped := UNITTEST_SKIPPED.search(text):
        for number in range(int(skipped[1] or skipped[2])):
            yield Outcome(f"{batch.program.name} (skipped {number + 1})", "skipped", 0.0, text)


def run_cases(batch, seconds_max):
    waiting = list(batch.cases)
    while waiting:
        ended = []
        count = max(1, sum(1 for length in accumulate(len(case) + 1 for case in waiting) if length <= FILTER_MAX))
        yield from run_process(batch.program, waiting[:count], ended, seconds_max)
        waiting = [case for case in waiting if case not in set(ended)]


def run_process(program, cases, ended, seconds_max):
    """Runs cases in one process until all have ended or one has ended it; tells their outcomes, and in `ended` which."""
    process = Process(program, [f"--gtest_filter={':'.join(cases)}", "--gtest_color=no"])
    running, output, started = None, [], time.monotonic()
    lines = process.lines(seconds_max)
    is_event = None
    while True:
        try:
            line = lines.send(is_event)
        except StopIteration:
            break
        is_event = False
        output.append(line)
        if run := RUN.search(line):
            running, output, started, is_event = run[1], [line], time.monotonic(), True
        elif (end := END.search(line)) and end[2] == running:
            status = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[end[1]]
            milliseconds = MILLISECONDS.search(line)
            seconds = int(milliseconds[1]) / 1000 if milliseconds else time.monotonic() - started
            ended.append(running)
            yield Outcome(f"{program.name}.{running}", status, seconds, "\n".join(output)[-OUTPUT_MAX:])
            running, output, is_event = None, [], True
    status = process.end()
    missing = [case for case in cases if case not in set(ended)]
    if not missing:
        # A failed case makes the status 1. Anything else, such as a sanitizer's complaint at the end, is a failure too.
        if status not in (0, 1) or process.timed_out:
            text = "\n".join(output)[-OUTPUT_MAX:] + f"\n{program.name}: {why_ended(process, status, seconds_max)}"
            yield Outcome(f"{program.name} (its end)", "failed", 0.0, text)
        return
    victim = running or missing[0]
    ended.append(victim)
    text = "\n".join(output)[-OUTPUT_MAX:] + f"\n{victim}: {why_ended(process, status, seconds_max)}"
    yield Outcome(f"{program.name}.{victim}", "failed", time.monotonic() - started, text)


class Report:
    """Counts outcomes, shows the failed ones at once, and how far it is."""

    def __init__(self, tests):
        self.lock = threading.Lock()
        self.tests = tests
        self.outcomes = []
        self.counts = collections.Counter()
        self.start = time.monotonic()
        self.next_progress = PROGRESS_SECONDS

    def add(self, outcome):
        with self.lock:
            self.outcomes.append(outcome)
            self.counts[outcome.status] += 1
            if outcome.status == "failed":
                print(f"\nFAILED {outcome.name} ({outcome.seconds:.1f} s)\n{outcome.output}\n", flush=True)
            elapsed = time.monotonic() - self.start
            if elapsed >= self.next_progress:
                self.next_progress = elapsed + PROGRESS_SECONDS
                print(f"  {elapsed:4.0f} s: {sum(self.counts.values())} of {self.tests} tests, "
                      f"{self.counts['failed']} failed", flush=True)

    def close(self):
        programs = collections.defaultdict(list)
        for outcome in self.outcomes:
            folder = outcome.name.split(" ")[0].split(".")
            programs[".".join(folder[:2]) if folder[0] == "unit" else folder[0]].append(outcome)
        width = max(map(len, programs), default=0)
        print()
        for name, outcomes in sorted(programs.items()):
            print(f"  {name:{width}} {len(outcomes):5} tests {sum(each.seconds for each in outcomes):8.1f} s")
        slowest = sorted(self.outcomes, key=lambda each: -each.seconds)[:SLOWEST]
        print("\n  the slowest:")
        for outcome in slowest:
            if outcome.seconds >= 1:
                print(f"  {outcome.seconds:6.1f} s  {outcome.name}")
        for status in ("skipped", "failed"):
            for outcome in self.outcomes:
                if outcome.status == status:
                    print(f"\n  {status}: {outcome.name}", end="")
        print()


def run_all(batches, jobs, seconds_max, report):
    queue = collections.deque(batches)

    def work():
        while True:
            try:
                batch = queue.popleft()
            except IndexError:
                return
            run = run_cases if batch.program.has_cases else run_script
            for outcome in run(batch, seconds_max):
                report.add(outcome)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- Main ------------------------------------------------------------------------------------------------------------


def closing_line(counts):
    line = f"{counts.get('passed', 0)} passed, {counts.get('failed', 0)} failed"
    return line + (f", {counts['skipped']} skipped" if counts.get("skipped") else "")


def add_to_tally(file, outcomes):
    """Several runs, such as those of the sanitizers, have one closing line together."""
    tally = json.loads(file.read_text()) if file.exists() else {"passed": 0, "failed": 0, "skipped": 0, "failures": []}
    for outcome in outcomes:
        tally[outcome.status] += 1
        if outcome.status == "failed":
            tally["failures"].append(outcome.name)
    file.write_text(json.dumps(tally))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds-max", type=int, default=300, help="for one case or script")
    parser.add_argument("--tally", type=Path, help="adds the counts, and what failed, to this file instead of printing the closing line")
    parser.add_argument("--list", action="store_true", help="prints the names")
    parser.add_argument("--folder", action="append", default=[], type=lambda folder: folder.strip("/"))
    parser.add_argument("patterns", nargs="*", type=re.compile)
    arguments = parser.parse_intermixed_args()

    times_file = Path(arguments.build, "test_seconds.json")
    known_seconds = json.loads(times_file.read_text()) if times_file.exists() else {}
    programs = programs_of(arguments.build, arguments.folder)
    batches = plan(programs, arguments.patterns, arguments.jobs, known_seconds)
    names = [f"{batch.program.name}.{case}" for batch in batches for case in batch.cases]
    names += [batch.program.name for batch in batches if not batch.program.has_cases]
    if arguments.list:
        print("\n".join(sorted(names)))
        return 0
    if not names:
        sys.exit("run_tests: no test has such a name; --list prints them")

    report = Report(len(names))
    run_all(batches, arguments.jobs, arguments.seconds_max, report)
    report.close()
    if left_out := set(names) - {outcome.name for outcome in report.outcomes}:
        sys.exit(f"run_tests: {len(left_out)} tests were not run, such as {min(left_out)}")
    known_seconds.update({outcome.name: outcome.seconds for outcome in report.outcomes})
    times_file.write_text(json.dumps(known_seconds, indent=0, sort_keys=True))
    if arguments.tally:
        add_to_tally(arguments.tally, report.outcomes)
        print(f"  {len(names)} tests in {time.monotonic() - report.start:.0f} s: {closing_line(report.counts)}")
    else:
        print(closing_line(report.counts))
    return FAILED_STATUS if report.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
