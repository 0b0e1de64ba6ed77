"""Tampering: every bit of a small store and many bits of a larger one are flipped; planted rows and logs claim to be large;
crafted rows contain what no save would store."""

import json
import os
import subprocess
import time
from pathlib import Path

from frame.row import Row
from hostile.crafted import try_crafted
from hostile.planted import try_endless_rows, try_hollow_log

PACKAGE = Path(__file__).resolve().parents[3]
# The tests flip the bits in their own process. A kistd for each bit would take days.
SUITE = "A store with one flipped bit"
# In a short run, one of this many bits is flipped.
SPARSE = 307


def run(context):
    yield planted(context)
    yield crafted(context)
    began = time.monotonic()
    step = SPARSE if context.short else 1
    report = context.folder / "report"
    report.touch()
    first = context.random("tampering").randrange(step)
    environment = os.environ | {
        # As in the Makefile: otherwise, the order of the traits may differ, and everything is built again.
        "SWIFT_DETERMINISTIC_HASHING": "1",
        "KIST_BIT_STEP": str(step), "KIST_BIT_FIRST": str(first), "KIST_BIT_REPORT": str(report)}
    swift = os.environ.get("SWIFT", "swift")
    test = subprocess.run([swift, "test", "--package-path", PACKAGE, "--filter", SUITE], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    stores = [json.loads(line) for line in report.read_text().splitlines()]
    for store in sorted(stores, key=lambda store: store["credentials"]):
        row = Row(what=f"one bit flipped, a store of {store['credentials']} credentials")
        row.tries = sum(store["ends"].values())
        row.wrong += [f"{each} (KIST_BIT_STEP={step} KIST_BIT_FIRST={first})" for each in store["wrong"]]
        row.note = ", ".join(f"{count:,} {end}" for end, count in sorted(store["ends"].items()))
        row.seconds = time.monotonic() - began
        yield row
    if test.returncode != 0 and not any(store["wrong"] for store in stores) or len(stores) != 2:
        raise RuntimeError("the tests did not complete: " + test.stdout[-500:])


def planted(context):
    began = time.monotonic()
    row = Row(what="rows and logs that claim to be large")
    try_endless_rows(context, row)
    try_hollow_log(context, row)
    row.seconds = time.monotonic() - began
    return row


def crafted(context):
    began = time.monotonic()
    row = Row(what="stores and backups with content that no save would store")
    try_crafted(context, row)
    row.seconds = time.monotonic() - began
    return row
