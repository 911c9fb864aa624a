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
    digest = load_script(run)
    rates, costs_us = {"direct": [], "through": []}, {"direct": [], "through": []}
    for number in range(run.rounds + 1):  # the first makes the keys, and does not count
        for way, load_it in (("direct", lambda: load_redis(run, digest)), ("through", lambda: load_mete(run))):
            started = costs.processor_us(run.redis)
            rate = load_it()
            if number:
                rates[way].append(rate)
                costs_us[way].append((costs.processor_us(run.redis) - started) / run.requests)
    findings.bars.append(Bar(f"decisions/s: mete serve / redis-benchmark with the same script, pipeline {PIPELINE}",
                             median([one / other for one, other in zip(rates["through"], rates["direct"])]), at_least=0.8))
    titles = {"direct": f"redis-benchmark with Mete's script, pipeline {PIPELINE}",
              "through": f"TAKE through mete serve with {run.threads} threads, pipeline {PIPELINE}"}
    for way, title in titles.items():
        findings.note(f"{title}: decisions/s", spread(rates[way]))
        findings.note(f"{title}: Redis's processor, μs per decision", spread(costs_us[way], "{:.2f}"))


def load_redis(run, digest):
    names = [name.replace("{key}", RANDOM_KEY) for name in run.take.names]
    charge = run.take.arguments[0].decode()
    return load(run, run.redis, ["EVALSHA", digest, str(len(names)), *names, charge])


def script_text(name):
    """With what it includes, as the program has it."""
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    return re.sub(r"-- include (\w+\.lua)\n", lambda match: script_text(match[1]), text)


def load_script(run):
    """Mete's script with its last argument written into it, since that has zero bytes, which redis-benchmark cannot send. So
    Redis has a little less to do than when Mete calls it."""
    written = "".join(f"\\{byte:03d}" for byte in run.take.arguments[-1])
    text = script_text("charge.lua")
    if text.count(LAST_ARGUMENT) != 1:
        raise RuntimeError(f"charge.lua does not read '{LAST_ARGUMENT}' once, as throughput.py expects it")
    with calls.Connection(run.redis) as connection:
        return connection.call("SCRIPT", "LOAD", text.replace(LAST_ARGUMENT, f"'{written}'")).decode()


def load_mete(run):
    return load(run, run.mete, ["TAKE", run.limit.name, RANDOM_KEY])


def load(run, server, command):
    """Requests a second."""
    done = subprocess.run(["redis-benchmark", "-p", str(server.port), "-P", str(PIPELINE), "-c", str(CONNECTIONS), "-n",
                           str(run.requests), "-r", str(KEYS), "--csv", *command],
                          capture_output=True, timeout=SECONDS_MAX, check=True)
    rows = list(csv.reader(done.stdout.decode(errors="replace").splitlines()))
    return float(rows[-1][1])
