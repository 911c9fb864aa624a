#!/usr/bin/env python3
"""tools/run_clang_tidy.py: whatever has changed is read by clang-tidy, headers too.

usage: run_clang_tidy_test.py [UNITTEST ARGUMENTS]
"""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import run_clang_tidy

SOURCES = {
    "src/core/meter.h": '#include "core/state.h"\n',
    "src/core/state.h": "#include <mete/limit.h>\n",
    "src/core/lonely.h": "",
    "src/core/far.h": "",
    "src/core/near.h": '#include "core/far.h"\n',
    "src/core/apart.cc": '#include "core/meter.h"\n#include "core/near.h"\n',
    "src/core/meter.cc": '#include "core/meter.h"\n',
    "src/core/other.cc": '#include "core/meter.h"\n',
    "src/core/state.cc": '#include "core/state.h"\n',
    "include/mete/limit.h": "",
}
TOGETHER = ("meter", "state")  # compiled as one


class Units(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.enterContext(mock.patch.object(run_clang_tidy, "ROOT", str(self.root)))
        for name, text in SOURCES.items():
            self.write(name, text)
        one = self.write("build/Unity/one.cc", "".join(f'#include "{self.root}/src/core/{name}.cc"\n' for name in TOGETHER))
        alone = [str(self.root / f"src/core/{name}.cc") for name in ("apart", "other")]
        self.write("build/compile_commands.json", json.dumps([{"file": file} for file in (one, *alone)]))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def units(self, *names):
        found = run_clang_tidy.units_of(self.root / "build", [str(self.root / name) for name in names])
        return [Path(unit).stem for unit in found]

    def test_a_source_is_read_with_its_neighbours(self):
        self.assertEqual(self.units("src/core/meter.cc", "src/core/state.cc"), ["one"])

    def test_a_header_is_read_with_its_own_source(self):
        self.assertEqual(self.units("src/core/meter.h"), ["one"])

    def test_or_with_one_that_is_read_anyway(self):
        self.assertEqual(self.units("src/core/meter.h", "src/core/other.cc"), ["other"])

    def test_or_by_way_of_another_header(self):
        self.assertEqual(self.units("src/core/far.h"), ["apart"])
        self.assertEqual(self.units("include/mete/limit.h"), ["one"])

    def test_one_that_nothing_includes_is_named(self):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.assertEqual(self.units("src/core/lonely.h"), [])
        self.assertIn("lonely.h", told.getvalue())

    def test_a_source_that_nothing_compiles_is_an_error(self):
        with self.assertRaises(SystemExit):
            self.units("src/core/gone.cc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
