"""tools/run_tests.py: no test that fails, crashes, hangs or is left out is called passed; tools/soak.py forgets no round.

usage: run_tests_test.py [UNITTEST ARGUMENTS]
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"

# Speaks as a GoogleTest program does. What a case does is in its name.
FAKE = '''\
#!/usr/bin/env python3
import os, sys, time
cases = {cases!r}
if "--gtest_list_tests" in sys.argv:
    for suite in dict.fromkeys(case.split(".")[0] for case in cases):
        print(suite + ".")
        for case in cases:
            if case.split(".")[0] == suite:
                print("  " + case.split(".")[1])
    sys.exit()
chosen = next(word for word in sys.argv if word.startswith("--gtest_filter=")).split("=", 1)[1].split(":")
failed = False
for case in chosen:
    print("[ RUN      ] " + case, flush=True)
    if "Crash" in case:
        os.abort()
    if "Exit" in case:
        sys.exit(0)
    if "Hang" in case:
        time.sleep(60)
    if "Chatty" in case:
        print("no end of line", end="")
    word = "[  FAILED  ] " if "Fail" in case else "[  SKIPPED ] " if "Skip" in case else "[       OK ] "
    failed = failed or "Fail" in case
    print(word + case + (", where GetParam() = (a, b) (1 ms)" if "/" in case and "Fail" in case else " (1 ms)"), flush=True)
if any("Late" in case for case in chosen):
    time.sleep(60)
if any("Leak" in case for case in chosen):
    sys.exit(23)
sys.exit(1 if failed else 0)
'''


def write_build(build, cases, scripts=()):
    """A build with a program that has these cases, and scripts of these texts."""
    lines = []
    if cases:
        program = build / "fake"
        program.write_text(FAKE.format(cases=list(cases)))
        program.chmod(0o755)
        lines += [f'add_test(suite "{program}")', 'set_tests_properties(suite PROPERTIES LABELS "cases")']
    for number, text in enumerate(scripts):
        lines.append(f'add_test(script.{number} "/bin/sh" "-c" "{text}")')
    (build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")


def run_tool(name, *arguments):
    """Its exit status and its output."""
    answer = subprocess.run([sys.executable, TOOLS / name, *arguments], capture_output=True, text=True)
    return answer.returncode, answer.stdout + answer.stderr


class RunTests(unittest.TestCase):
    def run_cases(self, *cases, scripts=(), arguments=()):
        with tempfile.TemporaryDirectory() as folder:
            write_build(Path(folder), cases, scripts)
            return run_tool("run_tests.py", folder, "--jobs", "2", *arguments)

    def check(self, expected, status, *cases, **options):
        code, output = self.run_cases(*cases, **options)
        self.assertEqual(output.strip().splitlines()[-1], expected, output)
        self.assertEqual(code, status, output)
        return output

    def test_counts_what_passes(self):
        self.check("3 passed, 0 failed", 0, "A.One", "A.Two", "B.One/postgres")

    def test_a_failure_is_shown_with_its_output(self):
        output = self.check("1 passed, 1 failed", 3, "A.One", "A.Fail")
        self.assertIn("FAILED suite.A.Fail", output)

    def test_a_failure_with_a_parameter_is_one(self):
        output = self.check("1 passed, 1 failed", 3, "A.One/etcd", "A.Fail/etcd")
        self.assertNotIn("its exit status", output)

    def test_goes_on_behind_a_crash(self):
        output = self.check("3 passed, 2 failed", 3, "A.One", "A.Crash", "A.Two", "A.CrashAgain", "A.Three")
        self.assertRegex(output, r"A\.Crash: it was ended by signal 6")

    def test_a_program_that_ends_early_has_failed(self):
        self.check("2 passed, 1 failed", 3, "A.One", "A.Exit", "A.Two")

    def test_a_case_that_hangs_is_ended(self):
        output = self.check("2 passed, 1 failed", 3, "A.One", "A.Hang", "A.Two", arguments=("--seconds-max", "2"))
        self.assertIn("it took longer than 2 s", output)

    def test_a_sanitizer_that_complains_at_the_end_counts(self):
        self.check("1 passed, 1 failed", 3, "A.Leak")

    def test_a_program_that_does_not_end_has_failed(self):
        output = self.check("1 passed, 1 failed", 3, "A.Late", arguments=("--seconds-max", "2"))
        self.assertIn("suite (its end)", output)

    def test_skipped_is_not_passed(self):
        self.check("1 passed, 0 failed, 1 skipped", 0, "A.One", "A.Skip")

    def test_output_without_an_end_of_line(self):
        self.check("2 passed, 0 failed", 0, "A.Chatty", "A.Two")

    def test_scripts(self):
        self.check("1 passed, 1 failed", 3, scripts=("exit 0", "exit 7"))

    def test_what_a_script_leaves_behind_is_ended(self):
        with tempfile.NamedTemporaryFile() as file:
            self.check("1 passed, 0 failed", 0, scripts=(f"sleep 60 & echo $! >{file.name}",))
            process = Path("/proc", Path(file.name).read_text().strip())
            state = re.search(r"State:\s+(\w)", (process / "status").read_text()) if process.exists() else None
            self.assertTrue(state is None or state[1] == "Z")

    def test_names_choose(self):
        self.check("1 passed, 0 failed", 0, "A.One", "A.Fail", "B.One", arguments=(r"B\.",))

    def test_no_test_of_that_name_is_an_error(self):
        status, output = self.run_cases("A.One", arguments=("Nothing",))
        self.assertNotEqual(status, 0)
        self.assertIn("no test has such a name", output)

    def test_more_names_than_an_argument_takes(self):
        cases = [f"A.{'Long' * 40}{number}" for number in range(1500)]
        self.check("1500 passed, 0 failed", 0, *cases)

    def test_several_runs_have_one_tally(self):
        with tempfile.TemporaryDirectory() as folder:
            tally = Path(folder, "tally")
            self.run_cases("A.One", arguments=("--tally", tally))
            self.run_cases("A.One", "A.Fail", arguments=("--tally", tally))
            self.assertEqual(json.loads(tally.read_text()),
                             {"passed": 2, "failed": 1, "skipped": 0, "failures": ["suite.A.Fail"]})


class Soak(unittest.TestCase):
    def test_rounds_add_up_over_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            write_build(Path(folder), ("A.One", "A.Fail"))
            status, output = run_tool("soak.py", folder, "2")
            self.assertEqual(status, 1, output)
            self.assertRegex(output, r"2 rounds of .*, 0 without a failure; 4 tests, 2 failed")
            status, output = run_tool("soak.py", folder, "1")
            self.assertEqual(status, 1, output)
            self.assertRegex(output, r"3 rounds of .*, 0 without a failure; 6 tests, 3 failed")
            self.assertIn("3 times: suite.A.Fail, in round 1, 2, 3", output)

    def test_other_tests_are_another_soak(self):
        with tempfile.TemporaryDirectory() as folder:
            write_build(Path(folder), ("A.One", "A.Fail"))
            run_tool("soak.py", folder, "1")
            status, output = run_tool("soak.py", folder, "1", "--", "One")
            self.assertEqual(status, 0, output)
            self.assertRegex(output, r"1 rounds of .*, 1 without a failure; 1 tests, 0 failed")

    def test_what_cannot_be_run_is_no_round(self):
        with tempfile.TemporaryDirectory() as folder:
            write_build(Path(folder), ("A.One",))
            status, output = run_tool("soak.py", folder, "1", "--", "Nothing")
            self.assertNotEqual(status, 0)
            self.assertFalse(Path(folder, "soak.jsonl").exists(), output)


if __name__ == "__main__":
    unittest.main()
