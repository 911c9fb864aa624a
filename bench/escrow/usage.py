"""How much of a limit is used when more is asked for than it has, by three nodes of which one has nearly all of the load."""

import contextlib
import json
import subprocess
import tempfile

import far
import nodes
from bars import Bar
from measure import tell

LOADS = {"a": 90, "b": 9, "c": 1}  # per cent
LIMIT = 60_000
PERIOD_SECONDS = 10
LOAD_SECONDS = 9.2  # within a window
DEMANDS = (1.1, 2)  # times the limit
UTILISATION_MIN = 99  # per cent


def measure(arguments, findings):
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-escrow-"))
        port, scheme = stack.enter_context(nodes.redis())
        cluster = {name: stack.enter_context(nodes.start_node(str(arguments.program), name, f"{scheme}://127.0.0.1:{port}", directory)) for name in LOADS}
        cluster["a"].call("LIMIT", "SET", "api", "WINDOW", str(LIMIT), "PER", f"{PERIOD_SECONDS}s", "SCOPE", "escrow")
        for demand in DEMANDS:
            measure_windows(arguments, cluster, demand, findings)


def measure_windows(arguments, cluster, demand, findings):
    what = f"3 nodes with {'/'.join(str(load) for load in LOADS.values())} % of {demand:g} × the limit"
    tell(what)
    used, draws = [], []
    for _ in range(1 if arguments.quick else 2):
        far.wait_for_phase(0.2, PERIOD_SECONDS)
        before = {name: nodes.numbers(node) for name, node in cluster.items()}
        admitted = sum(load_window(arguments.program, cluster, demand).values())
        if admitted > LIMIT:
            raise RuntimeError(f"{admitted} were admitted, and the limit is {LIMIT}")
        used.append(100 * admitted / LIMIT)
        draws.append(sum(nodes.grown(node, before[name])["draws"] for name, node in cluster.items()) / admitted)
    findings.bars.append(Bar(f"used of the limit, {what}, the worst window", min(used), at_least=UTILISATION_MIN, unit="%"))
    findings.note(f"{what}: used of the limit in each window", ", ".join(f"{each:.2f} %" for each in used))
    findings.note(f"{what}: draws per admission", ", ".join(f"{each:.5f}" for each in draws))


def load_window(program, cluster, demand):
    """All nodes at once, within one window; what each of them has admitted."""
    running = {}
    for name, node in cluster.items():
        rate = round(demand * LIMIT / LOAD_SECONDS * LOADS[name] / 100)
        command = [str(program), "bench", "--server", node.address, "--json", "--rate", str(rate), "--connections", "4", "--warm-up", "0s",
                   "--duration", f"{LOAD_SECONDS * 1000:.0f}ms", "TAKE", "api", "tenant"]
        running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    admitted = {}
    for name, process in running.items():
        output, problem = process.communicate(timeout=PERIOD_SECONDS + 30)
        if not output:
            raise RuntimeError(problem.strip() or f"mete bench ended with {process.returncode}")
        report = json.loads(output)
        admitted[name] = report["requests"] - report["denials"] - report["errors"]
    return admitted
