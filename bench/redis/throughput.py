"""Decisions a second through `mete serve` beside those of Redis itself, by the same generator: redis-benchmark."""

import csv
import re
import subprocess
from pathlib import Path

import calls
import costs
from bars import Bar, median, spread
from measure import tell

PIPELINE = 64
CONNECTIONS = 50
KEYS = 10_000
RANDOM_KEY = "0000000__rand_int__"  # redis-benchmark puts twelve digits there: 19 bytes
SECONDS_MAX = 300
SCRIPTS = Path(__file__).resolve().parents[2] / "src/store/redis/lua"
LAST_ARGUMENT = "argv[count + 1]"


def measure(run, findings):
    tell(f"decisions a second at pipeline {PIPELINE}")
    sendable = sendable_call(run)
    ways = {
        "the usual script by redis-benchmark": lambda: load_redis(run, run.usual),
        "Mete's script by redis-benchmark": lambda: load_redis(run, sendable),
        f"TAKE through mete serve with {run.threads} threads": lambda: load_mete(run),
    }
    rates = {way: [] for way in ways}
    times = {way: [] for way in ways}
    for number in range(run.rounds + 1):  # the first makes the keys, and does not count
        for way, load_it in ways.items():
            started = costs.processor_us(run.redis)
            rate = load_it()
            if number:
                rates[way].append(rate)
                times[way].append((costs.processor_us(run.redis) - started) / run.requests)
    usual, direct, through = ways
    findings.bars.append(Bar(f"decisions/s, pipeline {PIPELINE}: mete serve / redis-benchmark with the same script",
                             median(ratios(rates[through], rates[direct])), at_least=0.8))
    findings.bars.append(Bar(f"Redis's processor time per take, pipeline {PIPELINE}: mete serve / the usual script",
                             median(ratios(times[through], times[usual])), at_most=0.5))
    for way in ways:
        findings.note(f"pipeline {PIPELINE}: {way}: decisions/s", spread(rates[way]))
        findings.note(f"pipeline {PIPELINE}: {way}: Redis's processor, μs per decision", spread(times[way], "{:.2f}"))


def ratios(some, others):
    return [one / other for one, other in zip(some, others)]


def script_text(name):
    """With what it includes, as the program has it."""
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    return re.sub(r"-- include (\w+\.lua)\n", lambda match: script_text(match[1]), text)


def sendable_call(run):
    """That of Mete's script with its last argument written into it, since that has zero bytes, which redis-benchmark cannot
    send. So Redis has a little less to do than when Mete calls it."""
    written = "".join(f"\\{byte:03d}" for byte in run.take.arguments[-1])
    text = script_text("charge.lua")
    if text.count(LAST_ARGUMENT) != 1:
        raise RuntimeError(f"charge.lua does not read '{LAST_ARGUMENT}' once, as throughput.py expects it")
    with calls.Connection(run.redis) as connection:
        digest = connection.call("SCRIPT", "LOAD", text.replace(LAST_ARGUMENT, f"'{written}'")).decode()
    return calls.Call(run.take.title, digest, run.take.names, run.take.arguments[:-1])


def load_redis(run, call):
    words = [word.decode() if isinstance(word, bytes) else str(word) for word in call.words(RANDOM_KEY)]
    return load(run, run.redis, words)


def load_mete(run):
    return load(run, run.mete, ["TAKE", run.limit.name, RANDOM_KEY])


def load(run, server, command):
    """Requests a second."""
    done = subprocess.run(["redis-benchmark", "-p", str(server.port), "-P", str(PIPELINE), "-c", str(CONNECTIONS), "-n",
                           str(run.requests), "-r", str(KEYS), "--csv", *command],
                          capture_output=True, timeout=SECONDS_MAX, check=True)
    rows = list(csv.reader(done.stdout.decode(errors="replace").splitlines()))
    return float(rows[-1][1])
