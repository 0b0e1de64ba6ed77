"""A comparison of two figures of a run, with a bound."""

from dataclasses import dataclass
from typing import Callable

from . import text


@dataclass
class Bound:
    what: str
    measured: str
    beside: str
    value: float
    limit: float
    show: Callable
    is_least: bool = False
    unpinned: str = ""

    @property
    def is_met(self):
        return self.value >= self.limit if self.is_least else self.value <= self.limit

    def cells(self):
        return [self.what, self.measured, self.beside, self.show(self.value),
                ("≥ " if self.is_least else "≤ ") + self.show(self.limit),
                "yes" if self.is_met else "NO", self.unpinned]


class Comparison:
    def __init__(self, results):
        self.results = results

    def at_most(self, limit, what, name, beside, called):
        """Requires at most a number of times the time of the other."""
        return self._compared(what, name, f"{called} {self.sample(beside)}", (name, beside), limit, False)

    def at_least(self, limit, what, name, beside, called):
        """Requires at least a number of times the speed of the other."""
        return self._compared(what, name, f"{called} {self.sample(beside)}", (beside, name), limit, True)

    def _compared(self, what, name, beside, pair, limit, is_least):
        pinned, unpinned = (self.results.ratio(*pair, "median", way) for way in ("pinned", "unpinned"))
        return Bound(what, self.sample(name), beside, pinned, limit, text.times, is_least,
                     text.times(unpinned))

    def growth(self, operation, field, limit):
        """Compares the most expensive store size of an operation with the smallest one."""
        names = {size: f"{operation} among {size}" for size in self.results.about["sizes"]["stores"]}
        smallest = min(names)
        ratios = {size: self.results.ratio(name, names[smallest], field)
                  for size, name in names.items() if size != smallest}
        worst = max(ratios, key=ratios.get)
        costs = [f"{text.seconds(self.results.median(names[size], field))} among {size:,}"
                 for size in (worst, smallest)]
        unpinned = self.results.ratio(names[worst], names[smallest], field, "unpinned")
        what = f"{operation}, where it takes longest, {'p99' if field == 'tail' else 'median'}"
        return Bound(what, *costs, ratios[worst], limit, text.times, unpinned=text.times(unpinned))

    def sample(self, name):
        return (f"{text.seconds(self.results.median(name))} "
                f"(p99 {text.seconds(self.results.median(name, 'tail'))})")
