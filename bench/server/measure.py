"""Measuring: short slices in turns, several rounds, medians. The machine may be shared: what is compared runs side by
side, and is judged by the server's processor time, which others on the machine disturb least."""

import json
import resource
import statistics
import subprocess
import sys

from scenarios import (CONNECTIONS, CONTESTANTS, IDLE_CONNECTIONS, KEYS, REDIS_INCR, TAKE_BUCKET)
from servers import idle_connections

WARM_UP = "200ms"
STARTS = 7
SLICE_SECONDS_MAX = 120


class Results:
    """All slices, by contestant and pipeline; and what else was measured."""

    def __init__(self, pipelines):
        self.pipelines = pipelines
        self.slices = {}      # (contestant, pipeline) → reports of `mete bench` as fast as it goes
        self.at_rate = {}     # (contestant, pipeline) → reports at the common rate
        self.rates = {}       # pipeline → requests per second
        self.failures = {}    # contestant → why it could not be measured
        self.idle_bytes = {}     # server → bytes per idle connection
        self.start_seconds = {}  # server → median

    def values(self, contestant, pipeline, value_of):
        return [value_of(report) for report in self.slices.get((contestant, pipeline), [])]

    def processor_times(self, contestant, pipeline):
        return self.values(contestant, pipeline, processor_ns_per_decision)

    def processor_ns(self, contestant, pipeline):
        return median(self.processor_times(contestant, pipeline))

    def per_second(self, contestant, pipeline):
        return median(self.values(contestant, pipeline, decisions_per_second))

    def latencies_us(self, contestant, pipeline):
        return [report["latency_us"]["p99"] for report in self.at_rate.get((contestant, pipeline), [])]

    def latency_us(self, contestant, pipeline):
        return median(self.latencies_us(contestant, pipeline))


def median(values):
    return statistics.median(values) if values else None


def processor_ns_per_decision(report):
    return report["server_cpu_ns_per_request"] * report["commands_per_operation"]


def decisions_per_second(report):
    return report["requests_per_second"] / report["commands_per_operation"]


def load(program, server, *options, seconds_max=SLICE_SECONDS_MAX):
    """The report of `mete bench`; RuntimeError says why there is none."""
    command = [program, "bench", "--server", server.address, "--pid", str(server.process.pid), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds_max, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip() or f"mete bench ended with {done.returncode}")
    report = json.loads(done.stdout)
    if report["errors"] or report["denials"] or not report["requests"]:
        raise RuntimeError(f"{report['errors']} errors ({report['first_error']}), {report['denials']} denials "
                           f"of {report['requests']} requests: all must be allowed")
    return report


class Bench:
    """Runs `mete bench` on the servers: each contestant has one of its own, so that it holds no keys but its own."""

    def __init__(self, program, servers, seconds):
        self.program = program
        self.servers = servers
        self.duration = f"{round(seconds * 1000)}ms"

    def run(self, contestant, pipeline, *options):
        server = self.servers[contestant]
        if contestant.is_http:
            options = ("--http", server.url, *options)
        return load(self.program, server, "--scenario", contestant.scenario, "--connections", str(CONNECTIONS), "--keys",
                    str(KEYS), "--pipeline", str(pipeline), "--warm-up", WARM_UP, "--duration", self.duration, *options)


def tell(text):
    print(text, file=sys.stderr, flush=True)


def fill(bench, results):
    """Every key exists before anything is measured."""
    for contestant in CONTESTANTS:
        try:
            bench.run(contestant, max(contestant.pipelines), "--fill")
        except RuntimeError as error:
            results.failures[contestant] = str(error)
            tell(f"{contestant.title}: {error}")


def measure_slices(bench, results, rounds):
    for pipeline in results.pipelines:
        for number in range(rounds):
            tell(f"pipeline {pipeline}, round {number + 1} of {rounds}")
            for contestant in CONTESTANTS:
                if contestant in results.failures or pipeline not in contestant.pipelines:
                    continue
                report = bench.run(contestant, pipeline)
                results.slices.setdefault((contestant, pipeline), []).append(report)


def measure_latencies(bench, results, rounds):
    """At half of what Redis INCR reached, the same for both."""
    for pipeline in results.pipelines:
        maximum = results.per_second(REDIS_INCR, pipeline)
        if maximum is None:
            continue
        results.rates[pipeline] = rate = int(maximum / 2)
        tell(f"latency at pipeline {pipeline}, {rate} requests/s")
        for _ in range(rounds):
            for contestant in (TAKE_BUCKET, REDIS_INCR):
                if contestant in results.failures:
                    continue
                report = bench.run(contestant, pipeline, "--rate", str(rate))
                results.at_rate.setdefault((contestant, pipeline), []).append(report)


def measure_idle_connections(server, results):
    if server.name == "Redis":
        server.call("CONFIG", "SET", "maxclients", str(IDLE_CONNECTIONS + 100))
    before = server.resident_bytes()
    with idle_connections(server, IDLE_CONNECTIONS):
        results.idle_bytes[server.name] = (server.resident_bytes() - before) / IDLE_CONNECTIONS


def measure_start(start, results):
    times = []
    for _ in range(STARTS):
        with start() as server:
            times.append(server.start_seconds)
            name = server.name
    results.start_seconds[name] = statistics.median(times)


def raise_descriptor_limit():
    """For this script and the servers that it starts."""
    wanted = IDLE_CONNECTIONS + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise RuntimeError(f"{IDLE_CONNECTIONS} connections need {wanted} open files, and the limit is {hard}: "
                               "raise it with ulimit -Hn")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
