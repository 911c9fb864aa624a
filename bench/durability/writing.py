"""What it costs to write: durable takes beside Redis's log, processor time of takes that are synced every second, bytes."""

import contextlib

import servers
from bars import Bar, median, spread
from measure import load, tell

CONNECTIONS = 50
KEYS = 100_000
ALWAYS_PIPELINES = {1: 1.3, 16: 1.0}  # and what is asked for beside Redis
EVERYSEC_PIPELINE = 64
BYTES_REQUESTS = 5_000
# With five digits for the number: 19 bytes.
KEY = "customer-0000:{key}"


def measure(run, findings):
    measure_always(run, findings)
    measure_everysec(run, findings)
    measure_bytes(run, findings)


def measure_in_turns(run, contestants, pipeline):
    """Reports by name; every key exists before anything is measured."""
    options = ("--connections", str(CONNECTIONS), "--keys", str(KEYS), "--pipeline", str(pipeline))
    for server, scenario in contestants.values():
        load(run.program, server, "--scenario", scenario, "--connections", str(CONNECTIONS), "--keys", str(KEYS),
             "--pipeline", "64", "--fill", "--warm-up", "0ms", "--requests", "6400")
    reports = {name: [] for name in contestants}
    for number in range(run.rounds):
        tell(f"  pipeline {pipeline}, round {number + 1} of {run.rounds}")
        for name, (server, scenario) in contestants.items():
            reports[name].append(load(run.program, server, "--scenario", scenario, *options, "--warm-up", "300ms",
                                      "--duration", run.duration))
    return reports


def per_second(reports):
    return [report["requests_per_second"] for report in reports]


def processor_ns(reports):
    return [report["server_cpu_ns_per_request"] for report in reports]


def measure_always(run, findings):
    tell("answers after the sync, beside Redis with appendfsync always")
    with contextlib.ExitStack() as stack:
        mete = stack.enter_context(servers.start_mete(run.program, run.folder("mete-always")))
        redis = stack.enter_context(servers.start_redis(run.folder("redis-always"), fsync="always"))
        contestants = {"TAKE stock": (mete, "take-stock"), "Redis INCR": (redis, "incr"), "HOLD stock": (mete, "hold")}
        for pipeline, at_least in ALWAYS_PIPELINES.items():
            reports = measure_in_turns(run, contestants, pipeline)
            ratio = median(per_second(reports["TAKE stock"])) / median(per_second(reports["Redis INCR"]))
            findings.bars.append(Bar(f"requests/s: TAKE stock / Redis INCR, both synced before the answer, pipeline {pipeline}",
                                     ratio, at_least=at_least))
            ratio = median(processor_ns(reports["HOLD stock"])) / median(processor_ns(reports["TAKE stock"]))
            findings.bars.append(Bar(f"processor time: HOLD / TAKE stock, both synced before the answer, pipeline {pipeline}",
                                     ratio, at_most=2.0))
            for name, some in reports.items():
                findings.note(f"{name}, synced before the answer, pipeline {pipeline}: requests/s", spread(per_second(some)))


def measure_everysec(run, findings):
    tell("processor time of takes that are synced every second")
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        contestants = {
            "TAKE bucket, everysec": (start(servers.start_mete(run.program, run.folder("mete-everysec"))), "take-bucket"),
            "TAKE bucket, memory only": (start(servers.start_mete(run.program)), "take-bucket"),
            "Redis INCR, everysec": (start(servers.start_redis(run.folder("redis-everysec"), fsync="everysec")), "incr"),
            "Redis INCR, no log": (start(servers.start_redis(run.folder("redis-memory"))), "incr"),
        }
        reports = measure_in_turns(run, contestants, EVERYSEC_PIPELINE)
    times = {name: median(processor_ns(some)) for name, some in reports.items()}
    findings.bars.append(Bar(f"processor time: TAKE bucket, everysec / memory only, pipeline {EVERYSEC_PIPELINE}",
                             times["TAKE bucket, everysec"] / times["TAKE bucket, memory only"], at_most=1.25))
    for name, some in reports.items():
        findings.note(f"{name}, pipeline {EVERYSEC_PIPELINE}: processor ns per request", spread(processor_ns(some)))
    findings.note("the same ratio of Redis INCR", f"{times['Redis INCR, everysec'] / times['Redis INCR, no log']:.3g} ×")


def measure_bytes(run, findings):
    tell("bytes of the journal")
    with servers.start_mete(run.program, run.folder("mete-bytes")) as server:
        server.call("LIMIT", "SET", "stock", "STOCK", "1000000000")
        for connections in (1, CONNECTIONS):
            before = int(server.info("persistence")["journal_bytes"])
            report = load(run.program, server, "--connections", str(connections), "--keys", str(KEYS), "--warm-up", "0ms",
                          "--requests", str(BYTES_REQUESTS), "TAKE", "stock", KEY)
            grown = int(server.info("persistence")["journal_bytes"]) - before
            findings.bars.append(Bar(f"journal per durable take, key of 19 bytes, connections: {connections}",
                                     grown / report["requests"], at_most=64, unit="bytes"))
