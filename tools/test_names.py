#!/usr/bin/env python3
"""Compares the tests of two revisions by their names: says which have gone, and which have come.

usage: test_names.py BEFORE [AFTER]     revisions of git; AFTER is the working tree where it is left out
       test_names.py --list [REVISION]

Read from the sources, so nothing is built: the cases and instantiations of GoogleTest and RapidCheck, the methods of
Python's unittest, the scripts and the fuzzers' inputs. Exits with 1 if a test has gone.
"""

import re
import subprocess
import sys

CASE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
INSTANTIATION = re.compile(r"^INSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)", re.MULTILINE)
PYTHON = re.compile(r"^class (\w+)|^    def (test_\w+)", re.MULTILINE)


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def files_of(revision):
    if revision:
        names = git("ls-tree", "-r", "--name-only", revision, "tests").splitlines()
    else:
        names = git("ls-files", "--cached", "--others", "--exclude-standard", "tests").splitlines()
    for name in names:
        if name.endswith("_test.cc"):
            yield name, read(revision, name)
        elif name.endswith(("_test.py", "_test.sh")) or "/corpus/" in name:
            yield name, read(revision, name) if name.endswith(".py") else ""


def read(revision, name):
    if revision:
        return git("show", f"{revision}:{name}")
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def names_of(revision):
    names = set()
    for file, text in files_of(revision):
        suite = file.split("/")[1]
        if file.endswith(".cc"):
            names |= {f"{suite}.{group}.{case}" for group, case in CASE.findall(text)}
            names |= {f"{suite}.{prefix}/{group}" for prefix, group in INSTANTIATION.findall(text)}
            continue
        script = file.removeprefix("tests/").rsplit(".", 1)[0].replace("/", ".") if "/corpus/" not in file else file
        names.add(script)
        group = ""
        for klass, method in PYTHON.findall(text):
            group = klass or group
            if method:
                names.add(f"{script}.{group}.{method}")
    return names


def main(arguments):
    if arguments[:1] == ["--list"] and len(arguments) <= 2:
        print("\n".join(sorted(names_of("".join(arguments[1:])))))
        return 0
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        sys.exit(__doc__)
    before, after = names_of(arguments[0]), names_of("".join(arguments[1:]))
    for name in sorted(before - after):
        print(f"- {name}")
    for name in sorted(after - before):
        print(f"+ {name}")
    print(f"{len(before)} tests before, {len(after)} after: {len(before - after)} have gone, {len(after - before)} have come")
    return 1 if before - after else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
