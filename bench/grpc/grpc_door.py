#!/usr/bin/env python3
"""Measures what the gRPC door costs: the server's processor time per ShouldRateLimit beside our own HTTP take in the same
run, the memory of idle streams, and ten thousand rules read and matched; and judges the bars.

The tables are printed, and written to docs/bench/grpc.md between its marks. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench/server"), str(ROOT / "bench/durability")]

import measure
import page
import report
import servers
from bars import Bar, Findings, median, spread

CONNECTIONS, STREAMS = 2, 32
IDLE_CONNECTIONS, IDLE_STREAMS = 10, 1_000
RULES = 10_000
STARTS = 5
WARM_UP_MS = 300

CALL_US_MAX = 3.5
BESIDE_HTTP_MAX = 1.5
STREAM_BYTES_MAX = 4_096
LOAD_SECONDS_MAX = 1
MATCH_US_MAX = 1

ONE_RULE = "domain: bench\ndescriptors:\n  - key: tenant\n    rate_limit: {unit: second, requests_per_unit: 1000000000}\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--load", default=ROOT / "build/bench/mete_grpc_bench", type=Path, help="the load generator")
    parser.add_argument("--rounds", default=5, type=int, help="of the calls and of the takes over HTTP, in turns (5)")
    parser.add_argument("--seconds", default=2, type=float, help="of each (2)")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


def rules_of_many():
    """As many as RULES: a tenant each, half of them with a rule for one path below it."""
    lines = ["domain: bench", "descriptors:"]
    for number in range(RULES // 2):
        lines += ["  - key: tenant", f"    value: tenant-{number}",
                  "    rate_limit: {unit: minute, requests_per_unit: 600}",
                  "    descriptors:", "      - key: path", "        value: /login",
                  "        rate_limit: {unit: minute, requests_per_unit: 5}"]
    return "\n".join(lines) + "\n"


class Run:
    def __init__(self, arguments, folder):
        self.program = arguments.program
        self.generator = str(arguments.load)
        self.seconds = arguments.seconds
        self.folder = Path(folder)

    def rules(self, name, text):
        folder = self.folder / name
        folder.mkdir()
        (folder / "rules.yaml").write_text(text)
        return str(folder)

    def start(self, rules=None):
        self.grpc_port = servers.free_port()
        flags = ["--envoy", rules] if rules else []
        return servers.start_mete(self.program, None, "--grpc", f"127.0.0.1:{self.grpc_port}", *flags)

    def generate(self, *words):
        done = subprocess.run([self.generator, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)


def processor_seconds(server):
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def calls(run, server, milliseconds):
    before = processor_seconds(server)
    told = run.generate("calls", run.grpc_port, CONNECTIONS, STREAMS, milliseconds)
    spent = processor_seconds(server) - before
    if told["errors"] or told["denials"] or not told["calls"]:
        raise RuntimeError(f"{told['errors']} errors and {told['denials']} denials of {told['calls']} calls")
    return spent / told["calls"] * 1e6, told["calls"] / told["seconds"]


def takes_over_http(run, server):
    told = measure.load(run.program, server, "--scenario", "http-take", "--http", server.url, "--connections", "50",
                        "--warm-up", "200ms", "--duration", f"{round(run.seconds * 1000)}ms")
    return told["server_cpu_ns_per_request"] / 1e3


def measure_calls(run, rounds, findings):
    with run.start(run.rules("one", ONE_RULE)) as server:
        calls(run, server, WARM_UP_MS)
        ours, http, rates = [], [], []
        for number in range(rounds):
            measure.tell(f"calls, round {number + 1} of {rounds}")
            each, rate = calls(run, server, round(run.seconds * 1000))
            ours.append(each)
            rates.append(rate)
            http.append(takes_over_http(run, server))
    findings.note(f"processor time of a ShouldRateLimit, {CONNECTIONS} connections × {STREAMS} streams", spread(ours, "{:.2f}") + " µs")
    findings.note("processor time of a take over HTTP, 50 connections × 1", spread(http, "{:.2f}") + " µs")
    findings.note("calls a second", spread(rates))
    findings.bars.append(Bar(f"a ShouldRateLimit, {CONNECTIONS} × {STREAMS}", median(ours), at_most=CALL_US_MAX, unit="µs"))
    findings.bars.append(Bar("beside a take over HTTP, 50 × 1", median(ours) / median(http), at_most=BESIDE_HTTP_MAX))


def measure_idle_streams(run, findings):
    with run.start() as server:
        before = server.resident_bytes()
        words = [run.generator, "idle", str(run.grpc_port), str(IDLE_CONNECTIONS), str(IDLE_STREAMS)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as generator:
            if not generator.stdout.readline():
                raise RuntimeError("the streams could not be opened")
            server.call("PING")
            wait_for_calls(server, IDLE_CONNECTIONS * IDLE_STREAMS)
            each = (server.resident_bytes() - before) / (IDLE_CONNECTIONS * IDLE_STREAMS)
            generator.stdin.close()
    findings.bars.append(Bar(f"{IDLE_CONNECTIONS * IDLE_STREAMS:,} idle streams, each", each, at_most=STREAM_BYTES_MAX, unit="bytes"))


def wait_for_calls(server, count):
    while int(server.info("stats")["total_grpc_calls"]) < count:
        pass


def measure_rules(run, findings):
    many = run.rules("many", rules_of_many())
    told = run.generate("rules", many)
    if told["rules"] != RULES or told["found"] != told["matches"]:
        raise RuntimeError(f"{told['rules']} rules, {told['found']} of {told['matches']} requests met one")
    seconds = {rules: median([start_seconds(run, rules) for _ in range(STARTS)]) for rules in (None, many)}
    findings.note(f"{RULES:,} rules read, without their limits", f"{told['read_ns'] / 1e6:.0f} ms")
    findings.bars.append(Bar(f"{RULES:,} rules: by how much a start is longer", seconds[many] - seconds[None],
                             at_most=LOAD_SECONDS_MAX, unit="s"))
    findings.bars.append(Bar(f"a request matched with {RULES:,} rules", told["match_ns"] / 1e3, at_most=MATCH_US_MAX, unit="µs"))


def start_seconds(run, rules):
    with run.start(rules) as server:
        return server.start_seconds


def main():
    arguments = parse_arguments()
    findings = Findings()
    try:
        servers.check_program(arguments.program)
        servers.check_program(arguments.load)
        with contextlib.ExitStack() as stack:
            run = Run(arguments, stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-grpc-")))
            measure_calls(run, arguments.rounds, findings)
            measure_idle_streams(run, findings)
            measure_rules(run, findings)
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"grpc_door.py: {error}", file=sys.stderr)
        return 1
    facts = [f"commit: {report.commit(ROOT)}", f"{arguments.rounds} rounds of {arguments.seconds:g} s of each, in turns"]
    return page.finish(arguments.output / "grpc.md", ("bench/grpc/grpc_door.py", "grpc"), facts, page.sections(findings), findings)


if __name__ == "__main__":
    sys.exit(main())
