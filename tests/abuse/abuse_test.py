#!/usr/bin/env python3
"""Every abuse of this folder, for a moment, on a real server with an innocent client beside it.

The tests run on a busy machine, so the bounds are far from the bars of `./x bench abuse`: what they are to find are
servers that stop for a second and more, and checks that are no matter of time.
"""

import unittest

import frame
import harness

QUIET_S = 0.5
ABUSED_S = 1.5
P99_MAX_S = 0.5  # of an innocent client beside an abuser
WORST_MAX_S = 5


class Abuse(unittest.TestCase):
    pass


def add(case_type):
    def test(self):
        report = frame.run(case_type, self, QUIET_S, ABUSED_S)
        self.assertLess(report.abused.p99, P99_MAX_S)
        self.assertLess(report.abused.worst, WORST_MAX_S)
        for what, value, at_most in report.checks:
            self.assertLessEqual(value, at_most, what)

    test.__doc__ = f"{case_type.by}: {case_type.what}"
    setattr(Abuse, f"test_{case_type.__name__}", test)


for each in frame.cases():
    if each.what:
        add(each)

if __name__ == "__main__":
    harness.main()
