"""The results as text: for the terminal, and as docs/bench/server.md."""

import os
import platform
import re
import subprocess
from pathlib import Path

from scenarios import CONNECTIONS, CONTESTANTS, IDLE_CONNECTIONS, KEYS, REDIS_INCR, TAKE_BUCKET, all_bars


def rows_of_times(results):
    """Title, then a cell per pipeline: median (least–most) of the server's processor time per decision."""
    for contestant in CONTESTANTS:
        cells = []
        for pipeline in results.pipelines:
            times = results.processor_times(contestant, pipeline)
            median = results.processor_ns(contestant, pipeline)
            cells.append(f"{median:,.0f} ({min(times):,.0f}–{max(times):,.0f})" if times else "–")
        yield [contestant.title, *cells]


def rows_of_throughput(results):
    for contestant in CONTESTANTS:
        cells = (results.per_second(contestant, pipeline) for pipeline in results.pipelines)
        yield [contestant.title, *(f"{cell / 1000:,.0f}" if cell else "–" for cell in cells)]


def rows_of_latency(results):
    for pipeline, rate in results.rates.items():
        cells = []
        for contestant in (TAKE_BUCKET, REDIS_INCR):
            values = results.latencies_us(contestant, pipeline)
            median = results.latency_us(contestant, pipeline)
            cells.append(f"{median:,.0f} ({min(values):,.0f}–{max(values):,.0f})" if values else "–")
        yield [str(pipeline), f"{rate / 1000:,.0f}", *cells]


def rows_of_bars(bars):
    for bar in bars:
        measured = "–" if bar.measured is None else f"{bar.measured:.3g} {bar.unit}"
        yield [bar.what, measured, f"≤ {bar.at_most:g} {bar.unit}", bar.verdict]


def table(heads, rows):
    """Markdown that also reads well as it is: columns are padded, all but the first to the right."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]

    def row(cells):
        padded = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
        return f"| {' | '.join(padded)} |"

    rule = [f"{'-' * widths[0]}", *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return "\n".join([row(heads), f"| {' | '.join(rule)} |", *(row(line) for line in rows)])


def machine():
    cpu = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    model = re.sub(r"\s+", " ", cpu[1]) if cpu else platform.machine()
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} × {model}, Linux {platform.release()}, load average {load:.1f} at the end"


def commit(root):
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False).stdout.strip()
    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no", "--", "src", "include") else ""
    return f"{git('rev-parse', '--short', 'HEAD') or 'unknown'}{changed}"


def tables(results):
    pipelines = [f"pipeline {pipeline}" for pipeline in results.pipelines]
    sections = [
        "Server's processor time per decision, ns: median of the rounds (least–most)\n\n"
        + table(["scenario", *pipelines], list(rows_of_times(results))),
        "Decisions per second, thousands, one generator thread beside the server\n\n"
        + table(["scenario", *pipelines], list(rows_of_throughput(results))),
        "p99 latency at half of Redis INCR's maximum, μs, counted from when a request was due\n\n"
        + table(["pipeline", "thousand requests/s", "TAKE bucket", "Redis INCR"], list(rows_of_latency(results))),
    ]
    others = [[name, f"{results.idle_bytes[name] / 1024:.1f}", f"{results.start_seconds[name] * 1000:.1f}"]
              for name in results.idle_bytes if name in results.start_seconds]
    sections.append(f"Memory per connection with {IDLE_CONNECTIONS:,} idle ones, and from start to first reply\n\n"
                    + table(["server", "KiB per connection", "start, ms"], others))
    if results.failures:
        sections.append("Not measured:\n\n" + "\n".join(
            f"- {contestant.title}: {reason}" for contestant, reason in results.failures.items()))
    return sections


def verdict(results):
    return "Bars\n\n" + table(["bar", "measured", "must be", "verdict"], list(rows_of_bars(all_bars(results))))


def markdown(results, facts):
    head = f"""# The server against Redis

Written by `bench/server/compare.py` (`./x bench` runs it); do not edit.

- machine: {machine()}
- commit: {facts['commit']}; {', '.join(facts['versions'])}
- {facts['rounds']} rounds of {facts['seconds']} s each, in turns; {CONNECTIONS} connections, {KEYS:,} random keys
  that all exist; every take is allowed; each scenario has a server of its own
- Mete runs in memory alone (`--data ""`), Redis without snapshots and log (`--save "" --appendonly no`)

The machine is shared, so processor time of the server decides, as Linux counts it for the server's process; the
generator (`mete bench`) is the same for both.

![Processor time per decision](server.svg)
"""
    return "\n".join([head, *(f"{section}\n" for section in [verdict(results), *tables(results)])])
