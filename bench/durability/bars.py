"""What was measured, and the bars that it must reach."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    what: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None
    unit: str = "×"

    @property
    def is_reached(self):
        return self.measured >= self.at_least if self.at_most is None else self.measured <= self.at_most

    @property
    def cells(self):
        must_be = f"≥ {self.at_least:g}" if self.at_most is None else f"≤ {self.at_most:g}"
        return [self.what, f"{self.measured:.3g} {self.unit}", f"{must_be} {self.unit}",
                "reached" if self.is_reached else "MISSED"]


@dataclass
class Findings:
    bars: list = field(default_factory=list)
    rows: list = field(default_factory=list)  # of cells: what else is worth knowing, and how much

    def note(self, what, value):
        self.rows.append([what, value])


def spread(values, text="{:,.0f}"):
    """The median, and in brackets the least and the most."""
    ordered = sorted(values)
    middle, least, most = (text.format(value) for value in (median(values), ordered[0], ordered[-1]))
    return f"{middle} ({least}–{most})"


def median(values):
    ordered = sorted(values)
    return (ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2
