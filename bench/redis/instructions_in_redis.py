"""Counts the instructions that Redis executes for a call of a script, with callgrind: they do not depend on what else the
machine is doing, so they tell what a change to a script has done."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import calls
import costs
import servers
from measure import tell

KEYS = 400
PIPELINE = 50
# The function of redis-server that is counted, with all that it calls.
COUNTED = "evalShaCommand"


class CountedRedis(servers.Server):
    """A redis-server under callgrind."""

    def __init__(self):
        if shutil.which("callgrind_control") is None:
            raise servers.Missing("no valgrind: ./x bench redis --instructions installs it, or: apt-get install valgrind")
        self._folder = tempfile.TemporaryDirectory(prefix="mete-callgrind-")
        self._record = Path(self._folder.name) / "record"
        self._dumps = 0
        port = servers.free_port()
        super().__init__("redis-server under callgrind",
                         ["valgrind", "--tool=callgrind", f"--toggle-collect={COUNTED}",
                          f"--callgrind-out-file={self._record}", "redis-server", "--port", str(port), "--bind", "127.0.0.1",
                          "--save", "", "--appendonly", "no", "--dir", self._folder.name], port, start_seconds_max=60)

    def stop(self):
        super().stop()
        self._folder.cleanup()

    def _control(self, option):
        subprocess.run(["callgrind_control", option, str(self.process.pid)], check=True, capture_output=True)

    def count(self, connection, chunks):
        """Instructions per command of the chunks, whoever hands them on."""
        self._control("--zero")
        for chunk in chunks:
            connection.pipeline(chunk)
        self._control("--dump")
        self._dumps += 1
        record = Path(f"{self._record}.{self._dumps}").read_text(encoding="utf-8", errors="replace")
        return int(re.search(r"^totals: (\d+)", record, re.MULTILINE)[1]) / sum(map(len, chunks))


def start():
    return CountedRedis()


def measure(run, findings):
    tell("instructions per call")
    titles = {run.usual: "bucket in use: ", run.take: "bucket in use: ", run.take_two: "buckets in use: ",
              run.take_three: "buckets in use: ", run.usual_full: "bucket full again: ", run.take_full: "bucket full again: "}
    keys = costs.keys(KEYS)
    with calls.Connection(run.redis) as connection:
        for call, title in titles.items():
            first, second = (run.redis.count(connection, call.chunks(keys)) for _ in range(2))
            findings.note(f"{title}{call.title}: instructions per call (of the first on its key)",
                          f"{second:,.0f} ({first:,.0f})")
    takes = [calls.encode(("TAKE", run.limit.name, key)) for key in keys]
    chunks = [takes[first:first + PIPELINE] for first in range(0, KEYS, PIPELINE)]
    with calls.Connection(run.mete) as connection:
        number = run.redis.count(connection, chunks)
    findings.note(f"buckets in use: through mete serve, pipeline {PIPELINE}: instructions per take", f"{number:,.0f}")
