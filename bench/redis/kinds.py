"""What a take of each kind costs Redis beside a bucket's, and beside the usual script that reserves a quota; what a hold and its
commit cost; and Mete and Redis together for a take over HTTP."""

from pathlib import Path

import calls
import costs
from bars import Bar, median, spread
from measure import load, tell

RESERVE = Path(__file__).with_name("reserve.lua").read_text(encoding="ascii")
HELD = 200  # holds, or takes beside them, in a slice
HTTP_CONNECTIONS = 50
HTTP_SLICE = "3s"
KINDS = ("STOCK", "WINDOW", "CALENDAR")


def measure(run, findings):
    measure_takes(run, findings)
    measure_holds(run, findings)
    measure_http(run, findings)


def measure_takes(run, findings):
    tell("what a take of each kind costs Redis")
    with calls.Connection(run.redis) as connection:
        digest = connection.call("SCRIPT", "LOAD", RESERVE).decode()
        for key in costs.keys(costs.KEYS):
            connection.call("SET", f"quota:{key}:limit", 10**12)
    reserve = calls.Call("the usual script that reserves", digest, ["quota:{key}:used", "quota:{key}:limit"], [1])
    takes = [run.take_of[kind] for kind in KINDS]
    times = costs.measure_in_turns(run, [run.take, reserve, *takes], run.rounds)
    for kind, take in zip(KINDS, takes):
        title = f"Redis's usec of commandstats per take: a {kind.lower()}"
        findings.bars.append(Bar(f"{title} / a bucket", median(costs.ratios(times[take], times[run.take], 0)), at_most=1.3))
        findings.bars.append(Bar(f"{title} / the usual script that reserves",
                                 median(costs.ratios(times[take], times[reserve], 0)), at_most=0.8))
    for call in times:
        costs.note_times(findings, "each kind", call, times)


def measure_holds(run, findings):
    """Through the server, one after the other, as a hold is ended by what the server knows of it."""
    tell("what a hold and its commit cost Redis")
    ratios, micros = {kind: [] for kind in ("BUCKET", *KINDS)}, {}
    with calls.Connection(run.redis) as redis, calls.Connection(run.mete) as mete:
        def spent(operation):
            redis.call("CONFIG", "RESETSTAT")
            for number in range(HELD):
                operation(number)
            stats = redis.call("INFO", "commandstats").decode()
            line = next(line for line in stats.splitlines() if line.startswith("cmdstat_evalsha:"))
            return int(line.split("usec=")[1].split(",")[0]) / HELD

        for kind in ratios:
            name = run.limits[kind].name
            for turn in range(run.rounds + 1):
                def id_of(number):
                    return f"{kind}-{turn}-{number}"

                take_us = spent(lambda number: mete.call("TAKE", name, f"taken-{number}"))
                hold_us = spent(lambda number: mete.call("HOLD", name, f"held-{number}", "TTL", "1h", "ID", id_of(number)))
                commit_us = spent(lambda number: mete.call("COMMIT", id_of(number)))
                if turn:
                    ratios[kind].append((hold_us / take_us, commit_us / take_us))
                    micros.setdefault(kind, []).append((hold_us, commit_us))
    for kind, found in ratios.items():
        title = f"Redis's usec of commandstats, of a {kind.lower()}"
        findings.bars.append(Bar(f"{title}: a hold / a take", median([hold for hold, _ in found]), at_most=2))
        findings.bars.append(Bar(f"{title}: a commit / a take", median([commit for _, commit in found]), at_most=2))
        findings.bars.append(Bar(f"{title}: hold and commit / a take", median([sum(both) for both in found]), at_most=4))
        for place, what in enumerate(("a hold", "a commit")):
            findings.note(f"{what} of a {kind.lower()}: usec of commandstats", spread([both[place] for both in micros[kind]], "{:.1f}"))


def measure_http(run, findings):
    tell("Mete and Redis together, HTTP")
    micros = []
    for _ in range(run.rounds):
        begun = costs.processor_us(run.redis)
        report = load(str(run.program), run.mete, "--scenario", "http-take", "--http", run.mete.url, "--connections",
                      str(HTTP_CONNECTIONS), "--keys", str(costs.KEYS), "--warm-up", "0s", "--duration", HTTP_SLICE)
        redis_us = (costs.processor_us(run.redis) - begun) / report["requests"]
        micros.append(report["server_cpu_ns_per_request"] / 1000 + redis_us)
    title = f"processor, μs, of Mete and Redis together: HTTP take at {HTTP_CONNECTIONS} connections"
    findings.bars.append(Bar(title, median(micros), at_most=40))
    findings.note(title, spread(micros, "{:.1f}"))
