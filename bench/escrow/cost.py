"""What a decision from the local share costs, beside the same take without escrow: in one process, and through `mete serve`."""

import contextlib
import json
import subprocess
import tempfile

import nodes
import servers
from bars import Bar, median, spread
from measure import load, tell

RATIO_MAX = 1.3
KEYS = (1, 100_000)
# A share that nobody asks for goes back after seconds: so many keys are all asked for often enough to stay local.
KEYS_SERVED = (1, 1000)
COUNTERS = (1, 100_000)
PIPELINE = 64
CONNECTIONS = 8
# Never used up, and not written to the journal: there a share of a window is not, either.
LIMIT = "LIMIT SET api WINDOW 1000000000000 PER 30d DURABLE never SCOPE"


def keys_text(count):
    return "one key" if count == 1 else f"{count:,} keys"


def measure_in_process(arguments, findings):
    tell("a decision in one process")
    command = [str(arguments.program.parent / "bench/mete_escrow_bench"), str(arguments.rounds * 5), *map(str, KEYS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"mete_escrow_bench: {done.stderr.strip() or done.returncode}")
    for line in done.stdout.splitlines():
        told = json.loads(line)
        what = f"in one process, {keys_text(told['keys'])}"
        findings.bars.append(Bar(f"processor time of a decision, {what}: from the share / without escrow", told["ratio"], at_most=RATIO_MAX))
        findings.note(f"{what}: without escrow", f"{told['without_ns']:.0f} ns")
        findings.note(f"{what}: from the share", f"{told['with_ns']:.0f} ns")
        findings.note(f"{what}: the same with the thread that tends", f"{told['with_process_ns']:.0f} ns")
        findings.note(f"{what}: decisions that were local; draws per decision", f"{told['local']:.3%}; {told['draws_per_take']:.5f}")


def measure_through_server(arguments, findings):
    program = str(arguments.program)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-escrow-"))
        port, scheme = stack.enter_context(nodes.redis())
        plain = stack.enter_context(servers.start_mete(program))
        node = stack.enter_context(nodes.start_node(program, "bench", f"{scheme}://127.0.0.1:{port}?timeout=10s", directory))
        plain.call(*LIMIT.split(), "node")
        node.call(*LIMIT.split(), "escrow")
        for keys in KEYS_SERVED:
            compare(program, {"without escrow": plain, "from the share": node}, keys, arguments.rounds, findings)


def measure_counters(arguments, findings):
    """INCR on a node, which merges its counters with those of others, beside that on a plain server. Both write counters to disk."""
    program = str(arguments.program)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-escrow-"))
        port, scheme = stack.enter_context(nodes.redis())
        plain = stack.enter_context(servers.start_mete(program, f"{directory}/plain"))
        node = stack.enter_context(nodes.start_node(program, "bench", f"{scheme}://127.0.0.1:{port}?timeout=10s", directory))
        for keys in COUNTERS:
            for pipeline in (1, PIPELINE):
                compare_counters(program, {"a plain server": plain, "a node": node}, (keys, pipeline), arguments.rounds, findings)


def compare_counters(program, contestants, shape, rounds, findings):
    keys, pipeline = shape
    what = f"INCR, pipeline {pipeline}, {keys_text(keys)}"
    tell(what)
    options = ("--keys", str(keys), "--pipeline", str(pipeline), "--connections", str(CONNECTIONS))
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, server in contestants.items():
            report = load(program, server, *options, "--warm-up", "200ms", "--duration", "600ms", "INCR", "key:{key}")
            times[name].append(report["server_cpu_ns_per_request"])
    plain, node = times.values()
    ratios = [one / other for one, other in zip(node, plain)]
    findings.bars.append(Bar(f"processor time of a request, {what}: on a node / on a plain server", median(ratios), at_most=RATIO_MAX))
    for name, values in times.items():
        findings.note(f"{what}: {name}", f"{spread(values)} ns")


def compare(program, contestants, keys, rounds, findings):
    what = f"mete serve, pipeline {PIPELINE}, {keys_text(keys)}"
    tell(what)
    options = ("--keys", str(keys), "--pipeline", str(PIPELINE), "--connections", str(CONNECTIONS))
    times = {name: [] for name in contestants}
    for name, server in contestants.items():
        load(program, server, *options, "--fill", "--duration", "2s", "TAKE", "api", "key:{key}")
    for _ in range(rounds):
        for name, server in contestants.items():
            report = load(program, server, *options, "--warm-up", "100ms", "--duration", "400ms", "TAKE", "api", "key:{key}")
            times[name].append(report["server_cpu_ns_per_request"])
    without, from_share = times.values()
    ratios = [one / other for one, other in zip(from_share, without)]
    findings.bars.append(Bar(f"processor time of a request, {what}: from the share / without escrow", median(ratios), at_most=RATIO_MAX))
    for name, values in times.items():
        findings.note(f"{what}: {name}", f"{spread(values)} ns")
