"""A node whose shared store is far away, at a steady load that uses up exactly what the limit allows."""

import contextlib
import json
import subprocess
import tempfile
import time

import nodes
import servers
from bars import Bar
from measure import tell

ROUND_TRIP_SECONDS = 0.020
RATE = 10_000
P99_MS_MAX = 1
LOCAL_MIN = 99.9       # per cent
DENIED_MAX = 0.1       # per cent
MARGIN_SECONDS = 5     # before and after the window


def measure(arguments, shared, findings):
    """Over one whole window and two boundaries. No window is asked for more than it has, so that every denial is one too many."""
    period = 10 if arguments.quick else 60
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-escrow-"))
        port, scheme = stack.enter_context(shared())
        far_port = stack.enter_context(nodes.far_away(arguments.program, port, ROUND_TRIP_SECONDS))
        node = stack.enter_context(nodes.start_node(str(arguments.program), "bench", f"{scheme}://127.0.0.1:{far_port}", directory))
        node.call("LIMIT", "SET", "api", "WINDOW", str(RATE * period), "PER", f"{period}s", "SCOPE", "escrow")
        wait_for_phase(period - MARGIN_SECONDS, period)
        what = f"{scheme}, {ROUND_TRIP_SECONDS * 1000:.0f} ms away"
        tell(f"{what}: {RATE:,} takes a second for {period + 2 * MARGIN_SECONDS} s")
        before = nodes.numbers(node)
        report = load_steadily(arguments.program, node, period + 2 * MARGIN_SECONDS)
        judge(what, report, nodes.grown(node, before), findings)


def wait_for_phase(seconds, period):
    time.sleep((seconds - time.time()) % period)


def load_steadily(program, node, seconds):
    command = [str(program), "bench", "--server", node.address, "--pid", str(node.process.pid), "--json", "--rate", str(RATE), "--warm-up", "0s",
               "--duration", f"{seconds}s", "TAKE", "api", "tenant"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip() or f"mete bench ended with {done.returncode}")
    report = json.loads(done.stdout)
    if report["errors"]:
        raise RuntimeError(f"{report['errors']} errors, the first: {report['first_error']}")
    return report


def judge(what, report, grown, findings):
    latency = report["latency_us"]
    local = 100 * grown["escrow_decisions_local"] / grown["escrow_decisions"]
    denied = 100 * report["denials"] / report["requests"]
    findings.bars.append(Bar(f"{what}: p99 of TAKE at {RATE:,} a second", latency["p99"] / 1000, at_most=P99_MS_MAX, unit="ms"))
    findings.bars.append(Bar(f"{what}: decisions that were local", local, at_least=LOCAL_MIN, unit="%"))
    findings.bars.append(Bar(f"{what}: denied before the limit was used up", denied, at_most=DENIED_MAX, unit="%"))
    findings.note(f"{what}: TAKE, p50 / p99 / p99.9 / longest", " / ".join(f"{latency[name]:,.0f}" for name in ("p50", "p99", "p999", "max")) + " µs")
    findings.note(f"{what}: decisions, those that waited, denials", f"{grown['escrow_decisions']:,}, "
                  f"{grown['escrow_decisions'] - grown['escrow_decisions_local']:,}, {report['denials']:,}")
    findings.note(f"{what}: draws; units that died with their window", f"{grown['draws']:,}; {grown['units_stranded']:,}")
