"""The packages of PyPI that tests use, of the versions in python_packages.txt, in a virtual environment of their own."""

import os
import sys
from pathlib import Path

import harness

LOCKED = Path(__file__).resolve().with_suffix(".txt")


def run_with_packages():
    """Makes the environment in the build directory, if that was not done for this list, and starts the caller in it."""
    folder = Path(sys.argv[1]).resolve().parent / "python_packages"
    if Path(sys.prefix) == folder:
        return
    mark = folder / "installed"
    with harness.exclusive(folder):
        if not mark.exists() or mark.read_text() != LOCKED.read_text():
            harness.run("/usr/bin/python3", "-m", "venv", "--clear", str(folder), timeout=120)
            harness.run(str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", "--timeout", "15",
                        "--only-binary", ":all:", "--requirement", str(LOCKED), timeout=240)
            mark.write_text(LOCKED.read_text())
    os.execv(folder / "bin/python3", [str(folder / "bin/python3"), "-B", *sys.argv])
