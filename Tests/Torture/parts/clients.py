"""Clients of the same user in bad faith: whether others are served meanwhile, how fast, and in how much memory."""

import base64
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from frame.context import TORTURE
from frame.kistd import Kistd
from frame.row import Row
from hostile.attackers import Attack
from hostile.others import Others
from scan.units import MANAGER, OTHER_UNIT, UNIT, control_groups

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

# Of those at the socket of systemd: the control group that they are in, and the unit that they ask for.
SILENT_AT_CREDENTIALS = {
    "from no address of systemd": (UNIT, ""), "for a unit that they are not in": (OTHER_UNIT, UNIT),
    "in another unit": (OTHER_UNIT, OTHER_UNIT), "in no unit": ("", UNIT)}
# The sizes of the credentials of a unit: with the larger one it has to read meanwhile.
CREDENTIALS = (100, 500_000)

# What each is, and whether who has asked before keeps a connection that it does not use.
ATTACKS = {
    "silent": True, "slow": True, "asked": False, "deaf": False, "huge": False, "watching": False, "drip": True,
    "come_and_go": True, "ask_and_go": False}


def run(context):
    for name, keeps in ATTACKS.items():
        yield attack(context, name, keeps)
    yield key_slots(context)
    yield attack(context, "few_silent", True, f", kistd may open {FEW_FILES} files", ("prlimit", f"--nofile={FEW_FILES}"))
    if os.geteuid() == 0:
        with control_groups(context.folder / "cgroup") as manager:
            for name, (group, unit) in SILENT_AT_CREDENTIALS.items():
                yield silent_at_credentials(context, name, manager, group, unit)


def silent_at_credentials(context, name, manager, group, unit):
    """Many clients of cred.sock that read nothing, while a unit asks for its credentials."""
    began = time.monotonic()
    row = Row(what=f"1,000 connections to cred.sock that read nothing, {name}, while a unit asks for its credential")
    path = context.folder / f"{name}.sock"
    kistd = Kistd(context.kistd, context.folder / name, under=(sys.executable, "-c", MANAGER, path))
    with kistd.start() as connection:
        for size in CREDENTIALS:
            connection.ask(op="save", service=UNIT, account=str(size), secret="x" * size)
    silent = subprocess.Popen([sys.executable, TORTURE / "hostile" / "silent.py", manager / group, unit, path, "1000"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    row.tries = int(silent.stdout.readline())
    if row.tries < 1000:
        row.wrong.append(f"kistd let {1000 - row.tries} of 1,000 connections wait for longer than 10 s")
    for size in CREDENTIALS:
        asking = [sys.executable, "-m", "scan.units", manager / UNIT, path, str(size), str(size)]
        try:
            given = subprocess.run(asking, cwd=TORTURE, stdout=subprocess.PIPE, check=True, timeout=10).stdout
            if given != b"x" * size:
                row.wrong.append(f"a unit was given {len(given)} bytes of its credential of {size}")
        except subprocess.TimeoutExpired:
            row.wrong.append(f"a unit waited for its credential of {size} bytes for more than 10 s")
    memory = peak(kistd)
    if memory > OWN_MEMORY:
        row.wrong.append(f"kistd took {memory >> 20} MiB, more than {OWN_MEMORY >> 20}")
    silent.communicate()
    if kistd.stop() != 0:
        row.wrong.append(f"kistd did not end in order: {kistd.said()[-500:]}")
    row.seconds = time.monotonic() - began
    if (lines := len(kistd.said().splitlines())) > 5 + row.seconds / 2:
        row.wrong.append(f"the log was flooded with {lines} lines: {kistd.said()[-500:]}")
    row.note = f"{memory >> 20} MiB"
    return row


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


def key_slots(context):
    """A program that reaches the socket, and knows neither passphrase nor key, asks for a key slot of its own."""
    began = time.monotonic()
    row = Row(what="Asks for changes of key slots without a passphrase or the key")
    kistd = Kistd(context.kistd, context.folder / "key slots")
    key = base64.b64encode(bytes(32)).decode()
    with kistd.start() as connection:
        before = connection.ask(op="slots")["slots"]
        for proof, code in (({}, "badRequest"), ({"currentKey": key}, "denied"), ({"currentKey": "AAAA"}, "badRequest"),
                            ({"current": "a guess of a passphrase"}, "wrongPassphrase")):
            for request in ({"op": "slotAdd", "passphrase": "of the attacker"},
                            {"op": "slotAdd", "passphrase": "of the attacker", "replaceCurrent": True}):
                reply = connection.ask(**request, **proof)
                row.tries += 1
                if reply["ok"] or reply["error"]["code"] != code:
                    row.wrong.append(f"{request} with {proof} was answered {reply}")
        if connection.ask(op="slots")["slots"] != before:
            row.wrong.append("the slots were changed")
    kistd.stop()
    row.seconds = time.monotonic() - began
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
    if end["busy"] and "evicted a connection" not in kistd.said():
        row.wrong.append("the log does not say that connections were closed")
    return [statistics.median(slow) / statistics.median(one + other) for slow, one, other in zip(during, before, after)]


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))


def peak(kistd):
    """The most memory that kistd had, in bytes."""
    status = Path(f"/proc/{kistd.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10
