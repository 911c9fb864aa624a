"""The last units of a limit that three nodes share: whether all of them can be had, and how soon, while the shared store is far away."""

import contextlib
import tempfile
import time

import far
import nodes
from bars import Bar
from measure import tell

NAMES = ("a", "b", "c")
LIMIT = 100
KEYS = 20
ROUND_TRIPS_MAX = 2
READY_SECONDS_MAX = 10


def measure(arguments, findings):
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-escrow-"))
        port, scheme = stack.enter_context(nodes.redis())
        far_port = stack.enter_context(nodes.far_away(arguments.program, port, far.ROUND_TRIP_SECONDS))
        url = f"{scheme}://127.0.0.1:{far_port}"
        cluster = [stack.enter_context(nodes.start_node(str(arguments.program), name, url, directory)) for name in NAMES]
        wait_for_each_other(cluster)
        cluster[0].call("LIMIT", "SET", "api", "CALENDAR", str(LIMIT), "PER", "month", "SCOPE", "escrow")
        wait_for_limit(cluster)
        tell(f"the last units of {KEYS} keys")
        measured = [measure_key(cluster, f"key{number}") for number in range(KEYS)]
        used = [100 * admitted / LIMIT for admitted, _ in measured]
        waits = sorted(wait / far.ROUND_TRIP_SECONDS for _, wait in measured)
        findings.bars.append(Bar("3 nodes, two of them idle: used of a limit by the third, the worst of its keys", min(used), at_least=100, unit="%"))
        findings.bars.append(Bar("round trips until it has what the others do not use, the median", waits[len(waits) // 2],
                                 at_most=ROUND_TRIPS_MAX, unit="×"))
        findings.note("the same, the worst", f"{waits[-1]:.2f}")


def measure_key(cluster, key):
    """Two nodes have some and use one; the third takes until it is denied. What all were admitted, and the longest that it waited once
    it knew that nothing was left."""
    first, *others = cluster
    admitted = sum(is_admitted(node.call("TAKE", "api", key)) for node in others)
    longest = 0
    while True:
        started = time.perf_counter()
        answer = first.call("TAKE", "api", key)
        waited = time.perf_counter() - started
        if not is_admitted(answer):
            return admitted, longest
        admitted += 1
        if admitted > LIMIT - 2 * (LIMIT // 10 - 1):  # what was free is used up
            longest = max(longest, waited)


def is_admitted(answer):
    """A verdict begins with 1 or 0; what begins with anything else is an error."""
    return answer.split(b"\r\n")[1] == b":1"


def wait_for(is_so, what):
    end = time.monotonic() + READY_SECONDS_MAX
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.05)


def wait_for_each_other(cluster):
    wait_for(lambda: all(nodes.numbers(node)["cluster_known_nodes"] == len(cluster) for node in cluster), "the nodes")


def wait_for_limit(cluster):
    wait_for(lambda: all(is_admitted(node.call("TAKE", "api", f"nobody at {node.port}")) for node in cluster), "the limit")
