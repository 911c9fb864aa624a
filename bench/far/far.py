#!/usr/bin/env python3
"""Measures a server whose store lies elsewhere: takes a second with 200 clients and the store 20 ms and 1 ms away; what clients
notice of a store that is stopped and that they do not need; what a take costs a node and an inner server beside a plain one; and
judges the bars.

It starts redis-server, PostgreSQL, etcd and several `mete serve`. The tables are printed, and written to docs/bench/far.md between its
marks. The exit status is 1 if a bar is missed.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# servers, measure, report; bars, page; nodes; postgres
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/server", "bench/durability", "bench/escrow", "tests/integration")]

import nodes
import page
import report
import servers
from bars import Bar, Findings, median, spread
from measure import tell
from postgres import Postgres

CLIENTS = 200
KEYS = 10_000
WARMING_SECONDS = 10
WAITING_CLIENTS = 50
NEAR_SECONDS = 0.001
FAR_SECONDS = 0.020
# Of what is possible, CLIENTS / FAR_SECONDS: 10,000 takes a second.
FAR_MIN = {"redis": 9_000, "postgres": 9_000, "etcd": 9_000, "mete": 9_000, "node": 8_000}
NEAR_SHARE_MIN = 0.9
STOPPED_MAX = 2.0
PAUSE_SECONDS = 0.1
NODE_COST_MAX = 1.1
INNER_COST_MAX = 1.5
LIMIT = ("WINDOW", "1000000000", "PER", "1h")
PARTS = ("distance", "stopped", "cost")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/mete", type=Path, help="the built program (build/mete)")
    parser.add_argument("--rounds", default=5, type=int, help="how often each is measured (5)")
    parser.add_argument("--seconds", default=4, type=int, help="of each measurement (4)")
    parser.add_argument("--store", choices=tuple(FAR_MIN), action="append", help="these alone; writes no page")
    parser.add_argument("--only", choices=PARTS, help="one part alone; writes no page")
    parser.add_argument("--output", default=ROOT / "docs/bench", type=Path, help="folder to write to (docs/bench)")
    return parser.parse_args()


# --- The stores --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def start_store(arguments, kind):
    """Its port, its process if it has one alone, and the URL of it at any port."""
    if kind in ("redis", "node"):
        with servers.start_redis() as server:
            yield server.port, server.process, "redis://127.0.0.1:{}?timeout=2s".format
    elif kind == "etcd":
        with nodes.etcd() as (port, _):
            yield port, None, "etcd://127.0.0.1:{}?timeout=2s".format
    elif kind == "mete":
        with servers.start_mete(arguments.program) as server:
            yield server.port, server.process, "mete://127.0.0.1:{}?timeout=2s".format
    else:
        # What is measured is the distance, and not the disk.
        with Postgres(servers.free_port(), {"synchronous_commit": "off", "shared_buffers": "1GB"}) as server:
            url = "postgres://mete@127.0.0.1:{}/postgres?timeout=2s&sslmode=disable".format
            subprocess.run([arguments.program, "migrate", url(server.port)], check=True, capture_output=True)
            yield server.port, None, url


@contextlib.contextmanager
def start_server(arguments, kind, url):
    """A server over this store, with a limit `api`."""
    with contextlib.ExitStack() as stack:
        if kind == "node":
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mete-far-"))
            server = stack.enter_context(nodes.start_node(str(arguments.program), "far", url, directory))
            scope = ("SCOPE", "escrow")
        else:
            server = stack.enter_context(servers.start_mete_with(str(arguments.program), ("--store", url), nodes.READY_SECONDS_MAX))
            scope = ()
        server.call("LIMIT", "SET", "api", *LIMIT, *scope)
        yield server


def load(arguments, server, *words, clients=CLIENTS, seconds=None, options=()):
    """What `mete bench` has to say of it."""
    command = [str(arguments.program), "bench", "--server", server.address, "--pid", str(server.process.pid), "--json", "--connections",
               str(clients), "--warm-up", "1s", "--duration", f"{seconds or arguments.seconds}s", *options, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip() or f"mete bench ended with {done.returncode}")
    told = json.loads(done.stdout)
    if told["errors"]:
        raise RuntimeError(f"{told['errors']} errors, the first: {told['first_error']}")
    return told


def rate(told):
    return told["requests"] / told["seconds"]


# --- Distance ----------------------------------------------------------------------------------------------------------


def measure_distance(arguments, findings):
    for kind in arguments.store or FAR_MIN:
        # A node spends its share of a key it knows without asking anybody: so each take is of a new one.
        key = "k{seq}" if kind == "node" else "k{key}"
        with start_store(arguments, kind) as (port, _, url):
            rates = {}
            for distance in (0, NEAR_SECONDS, FAR_SECONDS):
                rates[distance] = measure_at(arguments, kind, url, port, distance, key)
        what = "a node that takes new keys, its Redis" if kind == "node" else f"{kind}://"
        findings.bars.append(Bar(f"{what} {FAR_SECONDS * 1000:.0f} ms away, {CLIENTS} clients: takes", median(rates[FAR_SECONDS]),
                                 at_least=FAR_MIN[kind], unit="a second"))
        # The store's own time is that of as many clients without the distance.
        possible = CLIENTS / (NEAR_SECONDS + CLIENTS / median(rates[0]))
        findings.bars.append(Bar(f"{what} {NEAR_SECONDS * 1000:.0f} ms away: takes, of what is possible",
                                 median(rates[NEAR_SECONDS]) / possible, at_least=NEAR_SHARE_MIN))
        for distance, measured in rates.items():
            findings.note(f"{what} {distance * 1000:.0f} ms away, {CLIENTS} clients: takes a second", spread(measured))


def measure_at(arguments, kind, url, port, distance, key):
    with contextlib.ExitStack() as stack:
        at = stack.enter_context(nodes.far_away(arguments.program, port, distance)) if distance else port
        server = stack.enter_context(start_server(arguments, kind, url(at)))
        tell(f"{kind}, {distance * 1000:.0f} ms away")
        options = ("--keys", str(KEYS))
        # A server knows what it has in etcd after its first take of a key, which costs a second round trip.
        if kind == "etcd":
            load(arguments, server, "TAKE", "api", key, seconds=WARMING_SECONDS, options=options)
        return [rate(load(arguments, server, "TAKE", "api", key, options=options)) for _ in range(arguments.rounds)]


# --- A store that is stopped -------------------------------------------------------------------------------------------


def measure_stopped(arguments, findings):
    """On a node, whose own limits need no other store."""
    with contextlib.ExitStack() as stack:
        port, redis, url = stack.enter_context(start_store(arguments, "node"))
        server = stack.enter_context(start_server(arguments, "node", url(port)))
        server.call("LIMIT", "SET", "own", *LIMIT, "SCOPE", "node")
        server.call("LIMIT", "SET", "there", *LIMIT, "SCOPE", "shared")
        ways = {"TAKE of a limit of its own": ("TAKE", "own", "k{key}"), "PING": ("PING",), "GET /healthz": None}
        quiet = {way: [] for way in ways}
        stopped = {way: [] for way in ways}
        for _ in range(arguments.rounds):
            for way, words in ways.items():
                tell(f"{way}, with the store stopped and not")
                quiet[way].append(latency(arguments, server, words))
                with waiting_clients(server, redis):
                    stopped[way].append(latency(arguments, server, words))
    for way in ways:
        worse = median([one / other for one, other in zip(stopped[way], quiet[way])])
        findings.bars.append(Bar(f"p99 of {way} while {WAITING_CLIENTS} clients wait for a store that is stopped / quiet", worse,
                                 at_most=STOPPED_MAX))
        findings.note(f"p99 of {way}, quiet; with the store stopped, μs", f"{spread(quiet[way])}; {spread(stopped[way])}")


def latency(arguments, server, words):
    options = ("--rate", "1000")
    if words is None:
        return load_http(arguments, server)
    return load(arguments, server, *words, clients=4, seconds=2, options=options)["latency_us"]["p99"]


def load_http(arguments, server):
    """p99 in μs of GET /healthz, over connections that stay."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=10)
    times = []
    for _ in range(1000):
        started = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times.append((time.perf_counter() - started) * 1e6)
        time.sleep(0.001)
    return sorted(times)[int(len(times) * 0.99)]


@contextlib.contextmanager
def waiting_clients(server, redis):
    """Clients that ask again and again for what is in the store, which is stopped."""
    is_over = threading.Event()

    def ask_on():
        with server.connect(30) as connection, contextlib.suppress(OSError):
            while not is_over.is_set():
                servers.ask(connection, "TAKE", "there", "waiting")
                time.sleep(PAUSE_SECONDS)  # Where the breaker is open it is refused at once: nobody asks on without a pause.

    os.kill(redis.pid, signal.SIGSTOP)
    threads = [threading.Thread(target=ask_on) for _ in range(WAITING_CLIENTS)]
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        os.kill(redis.pid, signal.SIGCONT)
        is_over.set()
        for thread in threads:
            thread.join()


# --- Costs -------------------------------------------------------------------------------------------------------------


def measure_cost(arguments, findings):
    """Processor time of a take: of a plain server, of a node for a limit of its own, and of the server behind another."""
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(servers.start_mete(arguments.program))
        inner = stack.enter_context(servers.start_mete(arguments.program))
        outer = stack.enter_context(start_server(arguments, "mete", f"mete://{inner.address}"))
        port, _, url = stack.enter_context(start_store(arguments, "node"))
        node = stack.enter_context(start_server(arguments, "node", url(port)))
        plain.call("LIMIT", "SET", "own", *LIMIT, "DURABLE", "never")
        inner.call("LIMIT", "SET", "own", *LIMIT, "DURABLE", "never")
        node.call("LIMIT", "SET", "own", *LIMIT, "SCOPE", "node", "DURABLE", "never")
        costs = {"plain": [], "node": [], "inner": []}
        for _ in range(arguments.rounds):
            tell("processor time of a take")
            costs["plain"].append(cost_of(arguments, plain, plain))
            costs["node"].append(cost_of(arguments, node, node))
            costs["inner"].append(cost_of(arguments, outer, inner))
    for name, what, at_most in (("node", "a take of a limit of scope node on a node / on a plain server", NODE_COST_MAX),
                                ("inner", "a take through mete://, for the inner server / a TAKE", INNER_COST_MAX)):
        ratio = median([one / other for one, other in zip(costs[name], costs["plain"])])
        findings.bars.append(Bar(f"processor time of {what}", ratio, at_most=at_most))
    for name, measured in costs.items():
        findings.note(f"processor time of a take, {name}, ns", spread(measured))


def cost_of(arguments, asked, paying):
    """Of `paying`, for each take that `asked` is asked for, with 16 in a pipeline."""
    before = processor_ns(paying)
    told = load(arguments, asked, "TAKE", "own", "k{key}", clients=50, options=("--pipeline", "16", "--keys", "1000"))
    # Those of the warm-up count as well, at the same rate.
    requests = told["requests"] * (told["seconds"] + 1) / told["seconds"]
    return (processor_ns(paying) - before) / requests


def processor_ns(server):
    fields = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def main():
    arguments = parse_arguments()
    findings = Findings()
    wanted = (arguments.only,) if arguments.only else PARTS
    try:
        servers.check_program(arguments.program)
        for part, measure in zip(PARTS, (measure_distance, measure_stopped, measure_cost)):
            if part in wanted:
                measure(arguments, findings)
    except (servers.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"far.py: {error}", file=sys.stderr)
        return 1
    text = page.sections(findings)
    if arguments.only or arguments.store:
        print(text)
        return 0 if all(bar.is_reached for bar in findings.bars) else 1
    facts = [f"commit: {report.commit(ROOT)}", f"{arguments.rounds} rounds; medians, and ratios of neighbours"]
    return page.finish(arguments.output / "far.md", ("bench/far/far.py", "far"), facts, text, findings)


if __name__ == "__main__":
    sys.exit(main())
