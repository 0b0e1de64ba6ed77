"""The table: what was measured, beside what, and whether it keeps within its bound."""

import statistics
from dataclasses import dataclass


@dataclass
class Row:
    what: str
    measured: str
    yardstick: str
    value: float
    unit: str
    bound: float
    unpinned: str = ""

    @property
    def is_met(self):
        return self.value <= self.bound

    def cells(self):
        def show(number):
            return f"{number:.2f}×" if self.unit == "×" else f"{number:.0f} {self.unit}"
        return [self.what, self.measured, self.yardstick, show(self.value), "≤ " + f"{self.bound:g}"
                + ("×" if self.unit == "×" else f" {self.unit}"), "yes" if self.is_met else "NO",
                self.unpinned]


HEADINGS = ["what", "kist", "beside", "result", "bound", "met", "unpinned"]


def seconds(value):
    return f"{value * 1e6:.1f} µs" if value < 0.001 else f"{value * 1e3:.2f} ms"


def sample(pairs):
    """The medians over the rounds of the median and of the 99th percentile."""
    return (f"{seconds(statistics.median(median for median, _ in pairs))} "
            f"(p99 {seconds(statistics.median(tail for _, tail in pairs))})")


def ratio(pairs, beside):
    """The median of the rounds' ratios: what slows a whole round down hits both sides of it."""
    return statistics.median(ours / theirs for (ours, _), (theirs, _) in zip(pairs, beside))


def spread(pairs):
    """How far the rounds' medians lie apart, as a part of their median."""
    medians = [median for median, _ in pairs]
    return (max(medians) - min(medians)) / statistics.median(medians)


def print_table(rows):
    table = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEADINGS))]
    for number, cells in enumerate(table):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
