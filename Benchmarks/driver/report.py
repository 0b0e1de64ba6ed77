"""The report of a run, which is printed and written into docs/performance.md."""

from . import tables
from .bounds import bounds
from .programs import ROOT

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
NOISE = 0.2


def noise(results):
    return [f"noisy: the medians of {name} lie {results.spread(name):.0%} apart"
            for name in ("echo", "append", "empty") if results.spread(name) > NOISE]


def about(results):
    about, sizes = results.about, results.about["sizes"]
    return (f"{about['cpus']} CPUs ({about['processor']}), {about['system']}, {about['file system']}. "
            f"{sizes['rounds']} rounds pinned to one CPU and {sizes['unpinned_rounds']} unpinned, each of "
            f"{sizes['loads']:,} loads, {sizes['saves']:,} saves and {sizes['cold']} starts of a program "
            f"({sizes['cold_slow']} of a slow one); {sizes['starts']} starts of the daemon.")


def warnings(results):
    lines = noise(results)
    if results.about["file system"] == "tmpfs":
        lines.append("this directory is in memory, so flushing costs nothing: choose a --directory on disk")
    if results.about["quick"]:
        lines.append("a quick run: good for finding mistakes, not for comparing figures")
    if "git helper" not in results.samples["pinned"]:
        lines.append("git-credential-libsecret is missing: git's source of it is not on this machine")
    return lines


def missed(results):
    return [bound.what for bound in bounds(results) if not bound.is_met]


def text(results):
    parts = [about(results), *(f"**{line[0].upper()}{line[1:]}.**" for line in warnings(results))]
    for title, table in tables.tables(results).items():
        parts += [f"### {title}", table]
    return "\n\n".join(parts)


def update_page(results):
    """Writes the figures between the two marks of the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text(results)}\n\n{END}{after}", encoding="utf-8")
