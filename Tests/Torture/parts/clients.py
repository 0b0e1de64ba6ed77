"""Clients of the same user in bad faith: whether others are served meanwhile, how fast, and in how much memory."""

import json
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from frame.kistd import Kistd
from frame.row import Row
from hostile.attackers import Attack
from hostile.others import Others

ATTACKERS = Path(__file__).resolve().parents[1] / "hostile" / "attackers.py"
# Connections that kistd serves at once when nobody says how many.
LIMIT = 128
# What kistd may take: for itself, and for each connection (docs/protocol.md).
OWN_MEMORY, MEMORY_OF_CONNECTION = 64 << 20, 5 << 20
# The latency of others under attack, over a connection that they have, as a multiple of what it is without.
SLOWER = 2
# A machine that does other things meanwhile makes one attempt slow.
ATTEMPTS = 3
# Files that kistd may open, where that is short.
FEW_FILES = 80

# What each is, and whether who has asked before keeps a connection that it does not use.
ATTACKS = {
    "silent": True, "slow": True, "asked": False, "deaf": False, "huge": False, "watching": False, "drip": True,
    "come_and_go": True, "ask_and_go": False}


def run(context):
    for name, keeps in ATTACKS.items():
        yield attack(context, name, keeps)
    yield attack(context, "few_silent", True, f", kistd may open {FEW_FILES} files", ("prlimit", f"--nofile={FEW_FILES}"))


def attack(context, name, keeps, where="", under=()):
    began = time.monotonic()
    row = Row(what=getattr(Attack, name).__doc__.rstrip(".") + where)
    kistd = Kistd(context.kistd, context.folder / name, under=under)
    with kistd.start() as connection:
        fill(connection)
    ratios = [attempt(context, kistd, name, keeps, row)]
    while ratios[-1][1] > SLOWER and len(ratios) < ATTEMPTS and not row.wrong:
        ratios.append(attempt(context, kistd, name, keeps, row))
    anew, again = (min(each) for each in zip(*ratios))
    memory, limit = peak(kistd), OWN_MEMORY + LIMIT * MEMORY_OF_CONNECTION
    row.note = f"others take {again:.2f} times as long, {anew:.2f} over new connections; {memory >> 20} MiB; " + row.note
    if again > SLOWER:
        row.wrong.append(f"others took {again:.2f} times as long")
    if memory > limit:
        row.wrong.append(f"kistd took {memory >> 20} MiB, more than {limit >> 20}")
    if kistd.stop() != 0:
        row.wrong.append(f"kistd did not end in order: {kistd.said()[-500:]}")
    row.seconds = time.monotonic() - began
    if (lines := len(kistd.said().splitlines())) > 5 + row.seconds / 10:
        row.wrong.append(f"the log was flooded with {lines} lines: {kistd.said()[-500:]}")
    return row


def fill(connection):
    """Saves what is asked for: large secrets, and as many small ones as are on a page."""
    requests = [{"service": "large", "account": str(number), "secret": "x" * (512 << 10)} for number in range(4)]
    requests += [{"service": "small", "account": str(number), "secret": "x" * 20} for number in range(1000)]
    for first in range(0, len(requests), 50):
        for request in requests[first:first + 50]:
            connection.send(op="save", **request)
        for _ in requests[first:first + 50]:
            if not (reply := connection.receive())["ok"]:
                raise RuntimeError(f"a save was answered {reply}")


def attempt(context, kistd, name, keeps, row):
    """How many times as long others take, over a new connection each time, and over one that they have."""
    seconds = max(0.4, context.seconds / len(ATTACKS) / 4)
    others = Others(kistd.socket)
    before = others.latencies(seconds)
    attackers = subprocess.Popen([sys.executable, ATTACKERS, name, str(kistd.socket)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, preexec_fn=allow_many_files)
    try:
        if attackers.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name} did not begin")
        during = others.latencies(2 * seconds)
        has_kept = others.has_kept_the_idle_one()
    finally:
        said, _ = attackers.communicate()
    after = others.latencies(seconds)
    others.close()
    end = json.loads(said)
    row.tries += end["made"]
    row.note = (f"{end['busy']:,} told busy, {end['wordless']:,} cut off; the idle one is {'kept' if has_kept else 'lost'}; "
                f"{others.retried} of {others.asked:,} asked again")
    if others.refused:
        row.wrong.append(f"{others.refused:,} of {others.asked:,} who asked were not served, though each tried thrice")
    if keeps and not has_kept:
        row.wrong.append("who had asked before lost a connection that was idle")
    if end["busy"] and "make room" not in kistd.said():
        row.wrong.append("the log does not say that connections were closed")
    return [statistics.median(slow) / statistics.median(one + other) for slow, one, other in zip(during, before, after)]


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))


def peak(kistd):
    """The most memory that kistd had, in bytes."""
    status = Path(f"/proc/{kistd.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10
