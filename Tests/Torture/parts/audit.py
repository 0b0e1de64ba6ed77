"""Changes to the audit log: auditVerify must report each one, in a running kistd and after a restart."""

import time
from itertools import zip_longest

from frame.kistd import Kistd
from frame.row import Row

# The number of requests, some of which are written together.
REQUESTS = 60
LONG = b"x" * 1_153_434


def run(context):
    rng = context.random("audit")
    for when in ("while kistd runs", "before kistd starts again"):
        yield attacks(context, rng, when)


def attacks(context, rng, when):
    row, began = Row(what=f"changes to the audit log {when}"), time.monotonic()
    kistd = Kistd(context.kistd, context.folder / when.replace(" ", "-"))
    log, mark = kistd.data / "audit.jsonl", kistd.data / "audit.jsonl.mark"
    connection = kistd.start()
    fill(connection, rng)
    found = verdict(connection)
    if "fault" in found or found["verified"] < REQUESTS:
        row.wrong.append(f"an unchanged log is reported as {found}")
    kistd.stop()
    whole, marked = log.read_bytes(), mark.read_bytes()
    while row.tries < len(ATTACKS) or not context.short and time.monotonic() - began < context.seconds / 2:
        name = list(ATTACKS)[row.tries % len(ATTACKS)]
        row.tries += 1
        log.write_bytes(whole)
        mark.write_bytes(marked)
        if when == "while kistd runs":
            connection = kistd.start()
            # A request for the log writes all pending lines.
            connection.ask(op="audit", limit=1)
        text = log.read_bytes()
        changed = ATTACKS[name](text.splitlines(keepends=True), rng)
        log.write_bytes(changed)
        if when != "while kistd runs":
            connection = kistd.start()
        found = verdict(connection)
        kistd.stop()
        if changed != text and not reports(found, name, first_difference(text, changed)):
            row.wrong.append(f"a log that was {name} is reported as {found}: see {context.keep(kistd.folder, f'audit-{row.tries}')}")
    row.seconds = time.monotonic() - began
    return row


def fill(connection, rng):
    """Sends requests one by one, and many at once."""
    asked = 0
    while asked < REQUESTS:
        burst = rng.choice((1, 1, 5, 20))
        for number in range(burst):
            connection.send(op="load", service="service", account=str(asked + number))
        for _ in range(burst):
            connection.receive()
        connection.ask(op="audit", limit=1)
        asked += burst


def verdict(connection):
    return connection.ask(op="auditVerify")


def reports(found, name, place):
    """Returns whether a reply reports a fault at the first line that differs."""
    fault = found.get("fault")
    if fault is None or fault["file"] != "audit.jsonl" or not fault["first"] <= place <= fault["last"]:
        return False
    # kistd cannot know whether lines before the first one were removed.
    return name != "stripped of lines" or fault["first"] == 1 or fault["kind"] in ("removed", "cut")


def first_difference(text, changed):
    """Returns the number of the first line that differs."""
    pairs = zip_longest(text.splitlines(keepends=True), changed.splitlines(keepends=True))
    return next(number for number, (one, other) in enumerate(pairs, 1) if one != other)


def a_place(lines, rng, behind=0):
    return rng.randrange(len(lines) - behind)


def changed_byte(lines, rng):
    text = bytearray(b"".join(lines))
    place = rng.randrange(len(text))
    text[place] ^= 1 << rng.randrange(7)
    return bytes(text)


def removed(lines, rng):
    place = a_place(lines, rng)
    return b"".join(lines[:place] + lines[place + rng.choice((1, 2, 7)):])


def repeated(lines, rng):
    place = a_place(lines, rng)
    return b"".join(lines[:place] + [rng.choice(lines)] + lines[place:])


def swapped(lines, rng):
    place = a_place(lines, rng, behind=1)
    lines[place], lines[place + 1] = lines[place + 1], lines[place]
    return b"".join(lines)


def cut(lines, rng):
    return b"".join(lines)[:-rng.randrange(1, 2000)]


def long_line(lines, rng):
    place = a_place(lines, rng)
    return b"".join(lines[:place]) + LONG + b"\n" + b"".join(lines[place:])


ATTACKS = {"changed by a bit": changed_byte, "stripped of lines": removed, "extended by a repeated line": repeated,
           "reordered": swapped, "cut": cut, "extended by a line of 1.1 MiB": long_line,
           "emptied": lambda lines, rng: b""}
