"""What calls of scripts cost Redis, by its own count (INFO commandstats) and by its processor time, and in memory."""

import re
from pathlib import Path

import calls
from bars import Bar, median, spread
from measure import tell

KEYS = 2_000
SLICE = 200  # calls of one kind at a time: what disturbs the machine then disturbs its neighbours too
MEMORY_KEYS = 100_000
KEY_BYTES = 19


def measure(run, findings):
    measure_time(run, findings)
    measure_memory(run, findings)


def keys(count, size=KEY_BYTES):
    return [f"{number:0{size}d}" for number in range(count)]


def processor_us(redis):
    """Of the thread that serves, since its start."""
    return int(Path(f"/proc/{redis.process.pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1000


class Meter:
    """Reads what a Redis has spent on scripts between begin() and end()."""

    def __init__(self, redis, connection):
        self._redis = redis
        self._connection = connection
        self._started = 0

    def begin(self):
        self._connection.call("CONFIG", "RESETSTAT")
        self._started = processor_us(self._redis)

    def end(self):
        """Microseconds per call: by commandstats, and of the processor."""
        spent = processor_us(self._redis) - self._started
        stats = self._connection.call("INFO", "commandstats").decode()
        count, micros = map(int, re.search(r"cmdstat_evalsha:calls=(\d+),usec=(\d+)", stats).groups())
        return micros / count, spent / count


def measure_in_turns(run, some_calls, rounds, is_fresh=False):
    """Lists of (by commandstats, of the processor) by call, a pair of each slice. The order changes from slice to slice.
    `is_fresh`: no key exists."""
    all_keys = keys(KEYS)
    slices = [{call: call.chunks(all_keys[first:first + SLICE]) for call in some_calls} for first in range(0, KEYS, SLICE)]
    times = {call: [] for call in some_calls}
    with calls.Connection(run.redis) as connection:
        meter = Meter(run.redis, connection)
        for number in range(rounds + 1):  # the first makes the keys, and does not count
            if is_fresh:
                run.forget_keys(connection)
            for chunks in slices:
                some_calls = list(reversed(some_calls))
                for call in some_calls:
                    meter.begin()
                    for chunk in chunks[call]:
                        connection.pipeline(chunk)
                    if number:
                        times[call].append(meter.end())
    return times


def ratios(some, others, column):
    return [one[column] / other[column] for one, other in zip(some, others)]


def note_times(findings, title, call, times):
    for column, by in enumerate(("usec of commandstats", "processor, μs")):
        findings.note(f"{title}: {call.title}: {by} per call", spread([pair[column] for pair in times[call]], "{:.2f}"))


def measure_time(run, findings):
    tell("what a take costs Redis")
    usual, one, two, three = run.usual, run.take, run.take_two, run.take_three
    times = measure_in_turns(run, [usual, one, two, three], run.rounds)
    for column, by in enumerate(("usec of commandstats", "processor time")):
        ratio = median(ratios(times[one], times[usual], column))
        title = f"Redis's {by} per take: Mete's script / the usual script"
        if column == 0:
            findings.bars.append(Bar(title, ratio, at_most=0.5))
        else:
            findings.note(title, f"{ratio:.3g} ×")
    findings.bars.append(Bar("usec of commandstats per take: two limits of a key / one",
                             median(ratios(times[two], times[one], 0)), at_most=1.5))
    findings.note("the same for three limits", f"{median(ratios(times[three], times[one], 0)):.3g} ×")
    for call in times:
        note_times(findings, "bucket in use", call, times)
    # A window that lasts: what was captured names the one that it was captured in.
    window, sliding = run.take_of["WINDOW"], run.take_sliding
    times = measure_in_turns(run, [window, sliding], 2 * run.rounds)
    findings.bars.append(Bar("usec of commandstats per take: a sliding window / a window",
                             median(ratios(times[sliding], times[window], 0)), at_most=1.5))
    for call in times:
        note_times(findings, "window", call, times)
    others = (("bucket that was full again", run.usual_full, run.take_full, False),
              ("bucket that is new", run.usual, run.take, True))
    for title, usual_one, our_one, is_fresh in others:
        times = measure_in_turns(run, [usual_one, our_one], run.rounds, is_fresh)
        findings.note(f"{title}: Mete's script / the usual script", f"{median(ratios(times[our_one], times[usual_one], 0)):.3g} ×")
        for call in times:
            note_times(findings, title, call, times)


def measure_memory(run, findings):
    tell("memory per bucket")
    prefix_bytes = len(run.take.names[0].replace("{key}", ""))
    with calls.Connection(run.redis) as connection:
        def bytes_per_bucket(call, some_keys):
            run.forget_keys(connection)
            before = used_memory(connection)
            for chunk in call.chunks(some_keys):
                connection.pipeline(chunk)
            return (used_memory(connection) - before) / len(some_keys)

        usual = bytes_per_bucket(calls.usual_call(connection, run.limit, "{key}"), keys(MEMORY_KEYS))
        same_name = bytes_per_bucket(run.take, keys(MEMORY_KEYS, KEY_BYTES - prefix_bytes))
        same_key = bytes_per_bucket(run.take, keys(MEMORY_KEYS))
        run.forget_keys(connection)
    findings.bars.append(Bar(f"memory in Redis per bucket, names of {KEY_BYTES} bytes: Mete / the usual script",
                             same_name / usual, at_most=0.6))
    findings.note(f"the usual script, names of {KEY_BYTES} bytes: bytes per bucket", f"{usual:.1f}")
    findings.note(f"Mete, names of {KEY_BYTES} bytes: bytes per bucket", f"{same_name:.1f}")
    findings.note(f"Mete, keys of {KEY_BYTES} bytes, so names of {KEY_BYTES + prefix_bytes}: bytes per bucket", f"{same_key:.1f}")


def used_memory(connection):
    return int(re.search(r"used_memory:(\d+)", connection.call("INFO", "memory").decode())[1])
