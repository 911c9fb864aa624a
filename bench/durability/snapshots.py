"""What a snapshot in the background costs those who are served meanwhile."""

import time

import recovery
from bars import Bar, median, spread
from measure import tell

PIPELINE = 16
SAVE_SECONDS_MAX = 600


def is_saving(server):
    return server.info("persistence")["rdb_bgsave_in_progress"] == "1"


def wait_for_end(server):
    deadline = time.monotonic() + SAVE_SECONDS_MAX
    while is_saving(server):
        if time.monotonic() > deadline:
            raise RuntimeError(f"a snapshot takes longer than {SAVE_SECONDS_MAX} s")
        time.sleep(0.05)


def load_in_pairs(run, server, *options):
    """Reports without a snapshot, and while one is written."""
    alone, saving = [], []
    words = ("--keys", str(run.meters), "--pipeline", str(PIPELINE), "--warm-up", "300ms", "--duration", run.duration, *options)
    for number in range(run.rounds):
        tell(f"  round {number + 1} of {run.rounds}")
        alone.append(recovery.take(run, server, *words))
        server.call("BGSAVE")
        saving.append(recovery.take(run, server, *words))
        if not is_saving(server):
            raise RuntimeError("the snapshot was over before the load: more meters (--meters), or less time (--seconds)")
        wait_for_end(server)
    return alone, saving


def measure(run, findings):
    """In the directory that recovery.measure_snapshot has filled."""
    tell("a snapshot under load")
    with recovery.start(run, run.filled, *recovery.NO_SNAPSHOTS) as server:  # none but those asked for
        alone, saving = load_in_pairs(run, server)
        without, during = ([report["requests_per_second"] for report in reports] for reports in (alone, saving))
        findings.bars.append(Bar(f"requests/s while a snapshot is written / without, pipeline {PIPELINE}",
                                 median(during) / median(without), at_least=0.8))
        findings.note("requests/s without a snapshot", spread(without))
        findings.note("requests/s while one is written", spread(during))
        rate = int(median(without) / 2)
        alone, saving = load_in_pairs(run, server, "--rate", str(rate))
        without, during = ([report["latency_us"]["p99"] for report in reports] for reports in (alone, saving))
        findings.bars.append(Bar("p99 at half load while a snapshot is written / without", median(during) / median(without),
                                 at_most=2.0))
        findings.note(f"p99 at {rate:,} requests/s without a snapshot, μs", spread(without))
        findings.note("p99 at the same rate while one is written, μs", spread(during))
        info = server.info("persistence")
    findings.note(f"a snapshot of {run.meters:,} meters in the background, s", info["rdb_last_bgsave_time_sec"])
