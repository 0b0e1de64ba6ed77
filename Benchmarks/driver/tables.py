"""The tables of a run, by theme, as Markdown."""

import statistics

from . import text
from .bounds import bounds
from .sizes import CLIENTS, DEPTH, IN_KEYRING, SECRETS, WATCHERS

HEADINGS = ["what", "kist", "beside", "result", "bound", "met", "unpinned"]
LOADS = {
    "echo": "**limit**: C echo of as many bytes",
    f"load among {IN_KEYRING}": "**kist**, encrypted file",
    "sqlite load": "SQLite alone, in the process, not encrypted",
    "ssh-agent": "ssh-agent: its list of one key",
    "keyring load": "**kist**, gnome-keyring behind it",
    "libsecret lookup": "libsecret in C, `secret_password_lookup`",
    "libsecret search": "libsecret in C, `secret_service_search`",
    "python load": "Python `keyring.get_password`",
}
SAVES = {
    "append": "**limit**: append + `fdatasync` of as many bytes",
    f"save among {IN_KEYRING}": "**kist**, encrypted file",
    "sqlite save": "SQLite alone, WAL, `synchronous=FULL`",
    "keyring save": "**kist**, gnome-keyring behind it",
    "libsecret save": "libsecret in C, `secret_password_store`",
    "python save": "Python `keyring.set_password`",
}
PROGRAMS = {
    "empty": "**limit**: empty C program",
    "kist load": "**`kist load`**",
    "kist save": "**`kist save`**",
    "kist helper": "**`kist helper git get`**",
    "git helper": "`git-credential-libsecret get`",
    "secret-tool lookup": "`secret-tool lookup`",
    "secret-tool store": "`secret-tool store`",
    "ssh-add": "`ssh-add -l`",
    "pass show": "`pass show`",
    "pass insert": "`pass insert`",
    "python keyring": "Python, `keyring get`",
}


def listed(results, names, ours):
    """Returns a table of times, each also as a multiple of kist's."""
    rows = [[what, text.seconds(results.median(name)), text.seconds(results.median(name, "tail")),
             text.times(results.ratio(name, ours, "median")),
             text.seconds(results.median(name, way="unpinned"))]
            for name, what in names.items() if name in results.samples["pinned"]]
    return text.table(["what", "median", "p99", "of kist's", "median, unpinned"], rows)


def many_clients(results):
    def row(what, name, limit):
        return [what, *(text.rate(results.median(of, "per_second", way)) for way in ("pinned", "unpinned")
                        for of in (name, limit)),
                f"{text.seconds(results.median(name, way='unpinned'))} "
                f"(p99 {text.seconds(results.median(name, 'tail', 'unpinned'))})"]
    return text.table(
        ["what", "kist, on one CPU", "limit, on one CPU", "kist, unpinned", "limit, unpinned",
         "until a reply, unpinned"],
        [row(f"load, pipelined {DEPTH}", "load pipelined", "echo pipelined"),
         *(row(f"load, {count} clients", f"load {count}", f"echo {count}") for count in CLIENTS),
         *(row(f"save, {count} clients", f"save {count}", "append") for count in CLIENTS)])


def watching(results):
    smallest = min(results.about["sizes"]["stores"])
    names = {f"save among {smallest}": "a save, and its reply"} | {
        f"notified {count}": f"a save, its reply, and {count} watchers" for count in WATCHERS}
    rows = [[what, text.seconds(results.median(name)), text.seconds(results.median(name, "tail")),
             text.times(results.ratio(name, f"save among {smallest}", "median")),
             text.seconds(results.median(name, way="unpinned"))]
            for name, what in names.items()]
    return text.table(["what", "median", "p99", "of the save", "median, unpinned"], rows)


def large_secrets(results):
    rows = []
    for name, size in SECRETS.items():
        rows.append([name])
        for ours, limit in (("load", "echo"), ("save", "append")):
            ours, limit = f"{ours} of {size}", f"{limit} of {size}"
            rows[-1] += [f"{text.seconds(results.median(ours))} "
                         f"(p99 {text.seconds(results.median(ours, 'tail'))})",
                         text.seconds(results.median(limit)),
                         text.times(results.ratio(ours, limit, "median"))]
    return text.table(["secret", "load", "C echo", "ratio", "save", "append + fdatasync", "ratio"], rows)


def store_sizes(results):
    rows, figures = [], results.figures
    for size in results.about["sizes"]["stores"]:
        operations = [f"{text.seconds(results.median(f'{operation} among {size}'))} "
                      f"(p99 {text.seconds(results.median(f'{operation} among {size}', 'tail'))})"
                      for operation in ("load", "save")]
        rows.append([f"{size:,}", *operations, text.seconds(statistics.median(figures[f"find {size}"])),
                     text.seconds(statistics.median(figures[f"start {size}"])),
                     text.mebibytes(figures[f"peak {size}"]), text.mebibytes(figures[f"resident {size}"]),
                     text.mebibytes(figures[f"filled {size}"]),
                     f"{text.seconds(size / figures[f'fill {size}'])}, {text.rate(figures[f'fill {size}'])}"])
    return text.table(["credentials", "load", "save", "find by service", "start to first answer",
                       "memory: most, checking", "idle, restarted", "idle, after filling", "filling"], rows)


def at_rest(results):
    rows = [[name, f"{wake_ups:.0f}", text.mebibytes(memory)]
            for name, (wake_ups, memory) in results.figures["idle"].items()]
    return text.table(["process", "wake-ups a minute", "resident memory"], rows)


def tables(results):
    """Returns titles and tables, in reading order."""
    return {
        "What it must reach": text.table(HEADINGS, [bound.cells() for bound in bounds(results)]),
        "One client, one load": listed(results, LOADS, f"load among {IN_KEYRING}"),
        "One client, one save": listed(results, SAVES, f"save among {IN_KEYRING}"),
        "Many clients": many_clients(results),
        "Watching": watching(results),
        "Large secrets": large_secrets(results),
        "By size of the store": store_sizes(results),
        "Whole programs": listed(results, PROGRAMS, "kist load"),
        "At rest": at_rest(results),
    }
