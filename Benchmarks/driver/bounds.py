"""What kist must reach: a figure of the run for each, and the bound that it is held to."""

import statistics
from dataclasses import dataclass
from typing import Callable

from . import text
from .sizes import DEPTH, IN_KEYRING

CORE_RATE = 100_000


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


HEADINGS = ["what", "kist", "beside", "result", "bound", "met", "unpinned"]


def bounds(results):
    smallest, largest = results.about["sizes"]["stores"][0], results.about["sizes"]["stores"][-1]
    few = f"load among {smallest}", f"save among {smallest}"

    def sample(name):
        return (f"{text.seconds(results.median(name))} "
                f"(p99 {text.seconds(results.median(name, 'tail'))})")

    def at_most(limit, what, name, beside, called):
        return Bound(what, sample(name), f"{called} {sample(beside)}", results.ratio(name, beside, "median"),
                     limit, text.times, unpinned=text.times(results.ratio(name, beside, "median", "unpinned")))

    def faster(limit, what, name, beside, called):
        return Bound(what, sample(name), f"{called} {sample(beside)}", results.ratio(beside, name, "median"),
                     limit, text.times, True, text.times(results.ratio(beside, name, "median", "unpinned")))

    def flat(limit, operation, field):
        name = "median" if field == "median" else "99th percentile"
        ratios = {size: results.ratio(f"{operation} among {size}", f"{operation} among {smallest}", field)
                  for size in results.about["sizes"]["stores"][1:]}
        worst = max(ratios, key=ratios.get)
        cost = {size: text.seconds(results.median(f"{operation} among {size}", field))
                for size in (smallest, worst)}
        return Bound(f"{operation}, {smallest:,} to {largest:,} credentials, {name}",
                     f"{cost[worst]} among {worst:,}", f"{cost[smallest]} among {smallest:,}", ratios[worst],
                     limit, text.times, unpinned=text.times(results.ratio(
                         f"{operation} among {worst}", f"{operation} among {smallest}", field, "unpinned")))

    def figure(limit, what, value, show, measured=""):
        return Bound(what, measured, "", value, limit, show)

    pipelined, echo = (results.median(name, "per_second") for name in ("load pipelined", "echo pipelined"))
    shared, appended = (results.median(name, "per_second", "unpinned") for name in ("save 64", "append"))
    starts = results.figures[f"start {largest}"]
    idle = results.figures["idle"]
    return [
        at_most(3.5, "load, held connection", few[0], "echo", "C echo"),
        faster(15, f"load among {IN_KEYRING:,}, how many times faster", f"load among {IN_KEYRING}",
               "libsecret lookup", "libsecret in C"),
        Bound(f"load, pipelined {DEPTH}, on one CPU", text.rate(pipelined), f"C echo {text.rate(echo)}",
              pipelined, min(CORE_RATE, 0.5 * echo), text.rate, True,
              text.rate(results.median("load pipelined", "per_second", "unpinned"))),
        at_most(2.5, "save", few[1], "append", "append + fdatasync"),
        faster(20, f"save among {IN_KEYRING:,}, how many times faster", f"save among {IN_KEYRING}",
               "libsecret save", "libsecret in C"),
        Bound("save, 64 clients, not pinned", text.rate(shared), f"append + fdatasync {text.rate(appended)}",
              results.ratio("save 64", "append", "per_second", "unpinned"), 2.5, text.times, True),
        *(flat(limit, operation, field) for operation in ("load", "save")
          for limit, field in ((1.3, "median"), (3, "tail"))),
        figure(0.1, f"start to first answer among {largest:,}", statistics.median(starts), text.seconds,
               f"at most {text.seconds(max(starts))}"),
        figure(64, f"memory during the check of {largest:,}", results.figures[f"peak {largest}"],
               text.mebibytes),
        at_most(0.35, "`kist load`, cold", "kist load", "secret-tool lookup", "`secret-tool lookup`"),
        at_most(4, "the same", "kist load", "empty", "empty C program"),
        at_most(0.5, "`kist helper git get`, cold", "kist helper", "secret-tool lookup",
                "`secret-tool lookup`"),
        at_most(1.6, f"load from a keyring of {IN_KEYRING:,}", "keyring load", "libsecret lookup",
                "`secret_password_lookup`"),
        at_most(1, "the same", "keyring load", "libsecret search", "`secret_service_search`"),
        figure(0, "idle: wake-ups a minute", max(idle["kistd"][0], idle["kistd of many"][0]),
               lambda value: f"{value:.0f}"),
        figure(20, "idle: resident memory, the most of all stores", max(
            results.figures[f"resident {size}"] for size in results.about["sizes"]["stores"]),
            text.mebibytes),
    ]
