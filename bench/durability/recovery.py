"""From the start of the process to its first answer: with a snapshot behind it, with a journal, with nothing."""

import servers
from bars import Bar, median, spread
from measure import load, tell

# With seven digits for the number: 19 bytes.
KEY = "customer-00:{key}"
KEYS_OF_DIGITS = 10_000_000
START_SECONDS_MAX = 300
FILL_SECONDS_MAX = 900
NO_SNAPSHOTS = ("--snapshot-after", "0", "--snapshot-every", "0")
# A unit comes back in 43 minutes: no meter is as new, and so forgotten, before the end.
LIMIT = ("LIMIT", "SET", "calls", "BUCKET", "1000", "PER", "30d", "BURST", "1000000000")


def start(run, folder, *flags):
    return servers.start_mete(run.program, folder, *flags, start_seconds_max=START_SECONDS_MAX)


def take(run, server, *options):
    return load(run.program, server, *options, "TAKE", "calls", KEY, seconds_max=FILL_SECONDS_MAX)


def measure(run, findings):
    empty = measure_empty(run, findings)
    measure_journal(run, findings, empty)
    measure_snapshot(run, findings, empty)


def measure_empty(run, findings):
    seconds = []
    for _ in range(run.rounds + 2):
        with start(run, run.folder("empty")) as server:
            seconds.append(server.start_seconds)
    findings.note("start with nothing to recover, ms", spread([1000 * value for value in seconds], "{:.1f}"))
    return median(seconds)


def restart(run, folder, *flags):
    """Start times, and what the last server says of its recovery and its memory."""
    seconds = []
    for number in range(run.rounds):
        tell(f"  start {number + 1} of {run.rounds}")
        with start(run, folder, *flags) as server:
            seconds.append(server.start_seconds)
            info = server.info("everything")
            peak = server.peak_bytes()
    return seconds, info, peak


def measure_journal(run, findings, empty):
    tell(f"a journal of {run.records:,} records")
    folder = run.folder("journal")
    with start(run, folder, *NO_SNAPSHOTS) as server:
        server.call(*LIMIT)
        take(run, server, "--keys", str(KEYS_OF_DIGITS), "--pipeline", "64", "--warm-up", "0ms", "--requests",
             str(run.records))
    seconds, info, _ = restart(run, folder, *NO_SNAPSHOTS)
    records = int(info["recovered_records"])
    if records < 0.99 * run.records:  # a few keys come three times in half a second, which makes two records
        raise RuntimeError(f"{records} records were recovered, and {run.records} takes were made")
    rates = [records / (value - empty) / 1e6 for value in seconds]
    findings.bars.append(Bar("recovery from the journal", median(rates), at_least=1.0, unit="M records/s"))
    findings.note(f"recovery of {records:,} records from the journal, s", spread(seconds, "{:.2f}"))


def measure_snapshot(run, findings, empty):
    """Leaves a directory with a snapshot of all meters: run.filled."""
    tell(f"a snapshot of {run.meters:,} meters")
    folder = run.filled
    with start(run, folder) as server:
        server.call(*LIMIT)
        take(run, server, "--keys", str(run.meters), "--pipeline", "64", "--fill", "--warm-up", "0ms", "--requests", "64")
        server.call("SAVE", seconds_max=FILL_SECONDS_MAX)
        made = server.resident_bytes()
        size = int(server.info("persistence")["snapshot_bytes"])
    seconds, info, peak = restart(run, folder)
    if int(info["recovered_snapshot_bytes"]) != size or int(info["meters"]) != run.meters:
        raise RuntimeError(f"{info['meters']} meters came of {info['recovered_snapshot_bytes']} bytes, and {run.meters} were "
                           f"written to {size}")
    rates = [run.meters / (value - empty) / 1e6 for value in seconds]
    findings.bars.append(Bar("recovery from a snapshot", median(rates), at_least=2.0, unit="M meters/s"))
    findings.bars.append(Bar("peak memory of a recovery / memory of the server that had made the meters", peak / made,
                             at_most=1.2))
    findings.note(f"recovery of {run.meters:,} meters from a snapshot, s", spread(seconds, "{:.2f}"))
    findings.note("snapshot: bytes per meter", f"{size / run.meters:.1f}")
    findings.note("memory: bytes per meter when made, and at the peak of a recovery",
                  f"{made / run.meters:.1f}, {peak / run.meters:.1f}")
