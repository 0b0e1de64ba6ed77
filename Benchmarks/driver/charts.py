"""Bars and lines on logarithmic axes."""

import math

from . import text
from .svg import Picture


class LogAxis:
    """Places values between two positions, with a tick at each power of ten."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(math.ceil(math.log10(max(values)) - 1e-9), self.low + 1)
        self.start, self.end = start, end

    def place(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    @property
    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def round_time(value):
    """Returns a power of ten of seconds, as text with a unit."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if value >= size * 0.999:
            return f"{value / size:.0f} {unit}"
    return f"{value:g} s"


def bars(title, explanation, rows):
    """Draws rows with a name, a kind, a median and a 99th percentile in seconds; the fastest first."""
    left, top, step = 320, 66, 28
    bottom = top + step * len(rows)
    picture = Picture(880, bottom + 40, title, explanation)
    axis = LogAxis([value for *_, median, tail in rows for value in (median, tail)], left, 790)
    for tick in axis.ticks:
        picture.line("grid", axis.place(tick), top, axis.place(tick), bottom)
        picture.text(axis.place(tick), bottom + 18, round_time(tick), "faint", 11, "middle")
    for number, (name, kind, median, tail) in enumerate(sorted(rows, key=lambda row: row[2])):
        y = top + step * number + 5
        picture.text(left - 10, y + 14, name, size=13, anchor="end",
                     weight="bold" if kind == "kist" else "normal")
        picture.box(kind, left, y, axis.place(median) - left, 19)
        picture.line("faint", axis.place(median), y + 9.5, axis.place(tail), y + 9.5)
        picture.line("faint", axis.place(tail), y + 5, axis.place(tail), y + 14)
        picture.text(max(axis.place(tail), axis.place(median)) + 8, y + 14, text.seconds(median), size=12)
    return picture.done()


def lines(title, explanation, places, series):
    """Draws series with a name, a kind and a value in seconds at each place."""
    left, right, top, bottom = 70, 700, 66, 380
    picture = Picture(860, bottom + 52, title, explanation)
    across = LogAxis(places, left, right)
    up = LogAxis([value for _, _, values in series for value in values], bottom, top)
    for tick in up.ticks:
        picture.line("grid", left, up.place(tick), right, up.place(tick))
        picture.text(left - 8, up.place(tick) + 4, round_time(tick), "faint", 11, "end")
    for tick in across.ticks:
        picture.line("grid", across.place(tick), top, across.place(tick), bottom)
        picture.text(across.place(tick), bottom + 18, f"{tick:,.0f}", "faint", 11, "middle")
    picture.text((left + right) / 2, bottom + 38, "credentials in the store", "faint", 12, "middle")
    for name, kind, values in series:
        points = [(across.place(place), up.place(value)) for place, value in zip(places, values, strict=True)]
        picture.path(kind, points)
        picture.text(points[-1][0] + 10, points[-1][1] + 4, name, kind, 12)
    return picture.done()
