#!/usr/bin/env python3
"""Puts what was measured into CONTRIBUTING.md, between the marks of the command that has measured it.

usage: write_times.py REPOSITORY COMMAND <TABLE
"""

import re
import sys
from pathlib import Path


def write_times(repository, command, table):
    page = Path(repository, "CONTRIBUTING.md")
    mark = f"<!-- {command} -->"
    between = re.compile(rf"{re.escape(mark)}\n.*?<!-- end -->\n", re.DOTALL)
    text = page.read_text(encoding="utf-8")
    if not between.search(text):
        sys.exit(f"write_times: {page} has no {mark}")
    page.write_text(between.sub(lambda _: f"{mark}\n{table.strip()}\n<!-- end -->\n", text), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_times(sys.argv[1], sys.argv[2], sys.stdin.read())
