"""The required performance of kist: a figure of the run for each bound."""

import statistics

from . import text
from .comparison import Bound, Comparison
from .sizes import DEPTH, IN_KEYRING

# The most that one core can do. Above this, a client should use a second connection.
CORE_RATE = 100_000


def bounds(results):
    stores = results.about["sizes"]["stores"]
    compare = Comparison(results)
    return [
        *one_client(compare, stores[0]), *many_clients(results),
        *(compare.growth(operation, field, limit) for operation in ("load", "save")
          for field, limit in (("median", 1.3), ("tail", 3))),
        *whole_programs(compare), *daemon(results, stores),
    ]


def one_client(compare, smallest):
    many, peer = f"among {IN_KEYRING:,}", "libsecret in C"
    return [
        compare.at_most(3.5, "load, held connection", f"load among {smallest}", "echo", "C echo"),
        compare.at_least(15, f"load {many}: times faster", f"load among {IN_KEYRING}", "libsecret lookup",
                         peer),
        compare.at_most(2.5, "save", f"save among {smallest}", "append", "append + fdatasync"),
        compare.at_least(20, f"save {many}: times faster", f"save among {IN_KEYRING}", "libsecret save",
                         peer),
        compare.at_most(1.6, f"load from a keyring of {IN_KEYRING:,}", "keyring load", "libsecret lookup",
                        "`secret_password_lookup`"),
        compare.at_most(1, "the same", "keyring load", "libsecret search", "`secret_service_search`"),
    ]


def many_clients(results):
    def rates(ours, limit, way):
        return results.median(ours, "per_second", way), results.median(limit, "per_second", way)

    pipelined, echo = rates("load pipelined", "echo pipelined", "pinned")
    unpinned, _ = rates("load pipelined", "echo pipelined", "unpinned")
    shared, appended = rates("save 64", "append", "unpinned")
    return [
        Bound(f"load, pipelined {DEPTH}, on one CPU", text.rate(pipelined), f"C echo {text.rate(echo)}",
              pipelined, min(CORE_RATE, 0.5 * echo), text.rate, True, text.rate(unpinned)),
        Bound("save, 64 clients, not pinned", text.rate(shared), f"append + fdatasync {text.rate(appended)}",
              results.ratio("save 64", "append", "per_second", "unpinned"), 2.5, text.times, True),
    ]


def whole_programs(compare):
    secret_tool = "secret-tool lookup", "`secret-tool lookup`"
    return [
        compare.at_most(0.35, "`kist load`, cold", "kist load", *secret_tool),
        compare.at_most(4, "the same", "kist load", "empty", "empty C program"),
        compare.at_most(0.5, "`kist helper git get`, cold", "kist helper", *secret_tool),
    ]


def daemon(results, stores):
    figures, largest = results.figures, stores[-1]
    starts = figures[f"start {largest}"]
    wake_ups = max(count for name, (count, _) in figures["idle"].items() if name.startswith("kistd"))
    return [
        Bound(f"start to first answer among {largest:,}", f"at most {text.seconds(max(starts))}", "",
              statistics.median(starts), 0.1, text.seconds),
        Bound(f"resident memory during the check of {largest:,}", "", "", figures[f"peak {largest}"], 64,
              text.mebibytes),
        Bound("wake-ups a minute, idle", "", "", wake_ups, 0, text.count),
        *(Bound(f"resident memory, idle, {when}, the most of all stores", "", "",
                max(figures[f"{name} {size}"] for size in stores), 20, text.mebibytes)
          for name, when in (("resident", "after a restart"), ("filled", "after filling"))),
    ]
