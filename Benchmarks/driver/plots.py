"""The plots of a run, as SVG in docs/performance."""

from . import charts
from .programs import ROOT
from .sizes import IN_KEYRING
from .tables import LOADS, PROGRAMS, SAVES

FOLDER = ROOT / "docs" / "performance"
HOW = "Median of one run, logarithmic; the thin line reaches to the 99th percentile."


def rows(results, names):
    def kind(what):
        return "limit" if "limit" in what else "kist" if "**" in what else "peer"
    return [(what.replace("**", "").replace("`", "").removeprefix("limit: "), kind(what),
             results.median(name), results.median(name, "tail"))
            for name, what in names.items() if name in results.samples["pinned"]]


def by_size(results):
    sizes = results.about["sizes"]["stores"]
    return charts.lines(
        "Load and save, by size of the store", "Encrypted file, one client, pinned to one CPU; every save is "
        "on disk before it is answered.", sizes,
        [(f"{operation}, {name}", kind, "--" if field == "tail" else "-",
          [results.median(f"{operation} among {size}", field) for size in sizes])
         for operation, kind in (("load", "kist"), ("save", "other"))
         for name, field in (("median", "median"), ("p99", "tail"))])


def draw(results):
    FOLDER.mkdir(exist_ok=True)
    for name, picture in {
        "load": charts.bars(f"One load, among {IN_KEYRING:,} credentials", HOW, rows(results, LOADS)),
        "save": charts.bars(f"One save, among {IN_KEYRING:,} credentials", HOW, rows(results, SAVES)),
        "sizes": by_size(results),
        "programs": charts.bars("A program from its start to its end", HOW, rows(results, PROGRAMS)),
    }.items():
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
