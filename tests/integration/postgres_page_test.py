#!/usr/bin/env python3
"""docs/postgres.md, followed word by word: what it types into psql is typed into psql, and prints what it says."""

import difflib
import itertools
import re
import subprocess
import unittest
from pathlib import Path

import harness
import postgres

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs/postgres.md"
END = "that was all"

TYPED = re.compile(r"    (\w+)=\*?[#>] (.*)")  # the prompt names the session
MORE = re.compile(r"    \w+-\*?[#>] (.*)")     # a statement's next line
VARYING = {
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*[+-]\d\d": "(instant)",
    r"\d{4}-\d\d-\d\d 00:00:00": "(month)",
    r"\d+:\d\d:\d\d(\.\d+)?": "(time)",
    r"[0-9a-f]{32}": "(id)",
    r"-{3,}": "---",
    r" +": " ",
}


class Session:
    """A psql that is typed into. `app` is a role of its own; all others are the one that has installed Mete."""

    def __init__(self, name, server):
        environment = server.environment | ({"PGUSER": "app"} if name == "app" else {})
        self.process = subprocess.Popen([postgres.find("psql"), "-X", "-v", "SHOW_CONTEXT=never"], env=environment, text=True,
                                        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def type(self, text):
        """What it prints; until it ends, if it does."""
        self.process.stdin.write(f"{text}\n\\echo {END}\n")
        self.process.stdin.flush()
        lines = iter(self.process.stdout.readline, "")
        return [line.rstrip() for line in itertools.takewhile(lambda line: line != END + "\n", lines)]

    def close(self):
        self.process.kill()  # the page may have done that already
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def follow(lines, server, sessions):
    """The page's lines, with what psql prints today below what is typed."""
    written = []
    at = 0
    while at < len(lines):
        match = TYPED.fullmatch(lines[at])
        written.append(lines[at])
        at += 1
        if not match:
            continue
        name, text = match.groups()
        while at < len(lines) and (more := MORE.fullmatch(lines[at])):
            text += "\n" + more[1]
            written.append(lines[at])
            at += 1
        if name not in sessions:
            sessions[name] = Session(name, server)
        written += [f"    {line}".rstrip() for line in sessions[name].type(text)]
        # What the page says was printed: up to the next thing that is typed, or the end of the block.
        while at < len(lines) and not TYPED.fullmatch(lines[at]) and (not lines[at] or lines[at].startswith("    ")):
            at += 1
        if at < len(lines) and not TYPED.fullmatch(lines[at]) and written[-1]:
            written.append("")
    return written


def without_what_varies(lines):
    text = "\n".join(line for line in lines if line.strip())
    for pattern, name in VARYING.items():
        text = re.sub(pattern, name, text)
    return [line.rstrip() for line in text.splitlines()]


class PostgresPageTest(unittest.TestCase):
    def test_psql_prints_what_the_page_says(self):
        server = self.enterContext(postgres.Postgres(harness.free_port()))
        harness.run(harness.program, "migrate", server.url)
        sessions = {}
        said = PAGE.read_text().splitlines()
        written = follow(said, server, sessions)
        for session in sessions.values():
            session.close()
        self.assertGreater(len(sessions), 3)
        difference = difflib.unified_diff(without_what_varies(said), without_what_varies(written), "docs/postgres.md", "psql",
                                          lineterm="")
        self.assertEqual("", "\n".join(difference))


if __name__ == "__main__":
    harness.main()
