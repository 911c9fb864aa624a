"""Whether what was admitted fits into the windows of a limit.

An admission is (asked, answered), in ns. It was decided somewhere between the two: it may belong to any window from that
of the one to that of the other.
"""

from collections import Counter


def spans(admissions, period_ns):
    """(first window, last window) → how many admissions may belong to each of these and no others."""
    return Counter((asked // period_ns, answered // period_ns) for asked, answered in admissions)


def surely_in(admissions, period_ns, window):
    return spans(admissions, period_ns)[window, window]


def too_many(admissions, period_ns, amount):
    """A stretch of windows (first, last, admissions that must be in it) that cannot hold them; None if all can."""
    counts = spans(admissions, period_ns)
    for first in sorted({first for first, _ in counts}):
        for last in sorted({last for _, last in counts if last >= first}):
            inside = sum(count for (a, b), count in counts.items() if first <= a and b <= last)
            if inside > amount * (last - first + 1):
                return first, last, inside
    return None
