"""Malicious clients of the same user: whether kistd still serves others, how fast, and in how much memory."""

import base64
import json
import os
import re
import resource
import select
import signal
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
from scan.units import BELOW_OTHER_UNIT, BELOW_UNIT, MANAGER, OTHER_UNIT, SILENT_UNITS, UNIT, control_groups

ATTACKERS = Path(__file__).resolve().parents[1] / "hostile" / "attackers.py"
# The default number of connections that kistd serves at once.
LIMIT = 128
# The memory that kistd may use for itself and for each connection (docs/protocol.md).
OWN_MEMORY, MEMORY_OF_CONNECTION = 64 << 20, 5 << 20
# The allowed latency of others during an attack, over existing connections, as a multiple of the usual latency.
SLOWER = 2
# One attempt may be slow because the machine is busy. Each further one takes longer.
ATTEMPTS = 5
# A reload waits while a key is derived from a guess, and loads wait for the reload. They do not wait for the delayed answer.
DERIVATIONS = 3
# The number of files that kistd may open in the attack with few files.
FEW_FILES = 80

# For clients at cred.sock: the control groups that they are in, the unit that they claim, and the connections in each group.
SILENT_AT_CREDENTIALS = {
    "without an address of systemd": ([UNIT], "", 1000), "for a unit that they are not in": ([OTHER_UNIT], UNIT, 1000),
    "in another unit": ([OTHER_UNIT], OTHER_UNIT, 1000), "outside of any unit": ([""], UNIT, 1000),
    "in a group with the unit's name below another unit": ([BELOW_OTHER_UNIT], UNIT, 1000),
    f"in {len(SILENT_UNITS)} other units": (SILENT_UNITS, "own", 1)}
# Where clients claim to be the unit, and whether they are in it.
CLAIMANTS = {UNIT: True, BELOW_UNIT: True, OTHER_UNIT: False, BELOW_OTHER_UNIT: False, "": False}
# kistd refuses a credential with more zeros than systemd accepts.
MOST_BYTES = 1 << 20
# The sizes of a unit's credentials. The unit must read the larger one in several pieces.
CREDENTIALS = (100, 500_000)

# The attacks, and whether a client with an earlier request keeps its idle connection.
ATTACKS = {
    "silent": True, "slow": True, "asked": False, "deaf": False, "huge": False, "watching": False, "drip": True,
    "come_and_go": True, "ask_and_go": False}


def run(context):
    for name, keeps in ATTACKS.items():
        yield attack(context, name, keeps)
    yield key_slots(context)
    yield guesses(context)
    yield attack(context, "few_silent", True, f", kistd may open {FEW_FILES} files", ("prlimit", f"--nofile={FEW_FILES}"))
    if os.geteuid() == 0:
        yield from units(context)


def units(context):
    """Yields the rows about clients of cred.sock."""
    with control_groups(context.folder / "cgroup") as manager:
        yield claims(context, manager)
        for name, silent in SILENT_AT_CREDENTIALS.items():
            yield silent_at_credentials(context, name, manager, *silent)


def claims(context, manager):
    """Requests the credentials of a unit from inside and from outside of it."""
    began = time.monotonic()
    row = Row(what="clients of cred.sock that claim to be a unit")
    path = context.folder / "claims.sock"
    kistd = Kistd(context.kistd, context.folder / "claims", under=(sys.executable, "-c", MANAGER, path))
    with kistd.start() as connection:
        for size in CREDENTIALS:
            connection.ask(op="save", service=UNIT, account=str(size), secret="x" * size)
    for group, belongs in CLAIMANTS.items():
        for size in CREDENTIALS:
            given = request(manager / group, path, size, 2 * MOST_BYTES)
            row.tries += 1
            if belongs and given != b"x" * size:
                row.wrong.append(f"a client in {group} received {len(given)} bytes of a credential of {size}")
            if not belongs and given.strip(b"\0"):
                row.got_in.append(f"a client in {group or 'no unit'} received a credential of {UNIT}")
            elif not belongs and len(given) <= MOST_BYTES:
                row.wrong.append(f"a client in {group or 'no unit'} received only {len(given)} zeros")
    kistd.stop()
    row.seconds = time.monotonic() - began
    return row


def request(group, path, size, wanted):
    """Requests a credential of the unit as a process in a control group; returns at most the wanted number of bytes."""
    return subprocess.run([sys.executable, "-m", "scan.units", group, path, str(size), str(wanted)],
                          cwd=TORTURE, stdout=subprocess.PIPE, check=True, timeout=10).stdout


def silent_at_credentials(context, name, manager, groups, unit, number):
    """Lets a unit request its credentials while many clients of cred.sock read nothing."""
    began = time.monotonic()
    total = number * len(groups)
    row = Row(what=f"{total:,} connections to cred.sock that read nothing, {name}, while a unit requests its credential")
    path = context.folder / f"{name}.sock"
    kistd = Kistd(context.kistd, context.folder / name, under=(sys.executable, "-c", MANAGER, path))
    with kistd.start() as connection:
        for size in CREDENTIALS:
            connection.ask(op="save", service=UNIT, account=str(size), secret="x" * size)
    silent = subprocess.Popen([sys.executable, TORTURE / "hostile" / "silent.py", unit, path, str(number),
                               *(manager / group for group in groups)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    row.tries = int(silent.stdout.readline())
    if row.tries < total:
        row.wrong.append(f"kistd did not accept {total - row.tries} of {total:,} connections within 10 s")
    asked = time.monotonic()
    for size in CREDENTIALS:
        try:
            given = request(manager / UNIT, path, size, size)
            if given != b"x" * size:
                row.wrong.append(f"a unit received {len(given)} bytes of its credential of {size}")
        except subprocess.TimeoutExpired:
            row.wrong.append(f"a unit waited for its credential of {size} bytes for more than 10 s")
    waited = time.monotonic() - asked
    memory = peak(kistd)
    if memory > OWN_MEMORY:
        row.wrong.append(f"kistd used {memory >> 20} MiB, more than {OWN_MEMORY >> 20}")
    silent.communicate()
    if kistd.stop() != 0:
        row.wrong.append(f"kistd did not exit with 0: {kistd.said()[-500:]}")
    row.seconds = time.monotonic() - began
    # kistd limits its lines for each group.
    if (lines := len(kistd.said().splitlines())) > 4 + len(groups) + row.seconds / 2:
        row.wrong.append(f"the log was flooded with {lines} lines: {kistd.said()[-500:]}")
    row.note = f"{memory >> 20} MiB; the unit waited {waited:.1f} s"
    return row


def attack(context, name, keeps, where="", under=()):
    began = time.monotonic()
    row = Row(what=getattr(Attack, name).__doc__.rstrip(".") + where)
    kistd = Kistd(context.kistd, context.folder / name, under=under)
    with kistd.start() as connection:
        fill(connection)
    seconds, ratios = max(0.4, context.seconds / len(ATTACKS) / 4), []
    while len(ratios) < ATTEMPTS and not row.wrong and (not ratios or ratios[-1][1] > SLOWER):
        ratios.append(attempt(kistd, name, keeps, row, seconds * (len(ratios) + 1)))
    new, kept = (min(each) for each in zip(*ratios))
    memory, limit = peak(kistd), OWN_MEMORY + LIMIT * MEMORY_OF_CONNECTION
    row.note = f"requests of others take {kept:.2f} times as long, {new:.2f} over new connections; {memory >> 20} MiB; " + row.note
    if kept > SLOWER:
        row.wrong.append(f"requests of others took {kept:.2f} times as long")
    if memory > limit:
        row.wrong.append(f"kistd used {memory >> 20} MiB, more than {limit >> 20}")
    if kistd.stop() != 0:
        row.wrong.append(f"kistd did not exit with 0: {kistd.said()[-500:]}")
    row.seconds = time.monotonic() - began
    if (lines := len(kistd.said().splitlines())) > 5 + row.seconds / 10:
        row.wrong.append(f"the log was flooded with {lines} lines: {kistd.said()[-500:]}")
    return row


def key_slots(context):
    """Requests a key slot without the passphrase or the key."""
    began = time.monotonic()
    row = Row(what="requests to change key slots without the passphrase or the key")
    kistd = Kistd(context.kistd, context.folder / "key slots")
    key = base64.b64encode(bytes(32)).decode()
    requests = [{"op": "slotAdd", "passphrase": "of the attacker"},
                {"op": "slotAdd", "passphrase": "of the attacker", "replaceCurrent": True}]
    # The attacker has a connection of its own.
    with kistd.start() as owner, kistd.connect() as connection:
        owners = base64.b64encode((kistd.folder / "key").read_bytes()).decode()
        if not (reply := owner.ask(op="slotAdd", passphrase="of the owner", currentKey=owners))["ok"]:
            raise RuntimeError(f"the owner cannot add a key slot: {reply}")
        before = owner.ask(op="slots")["slots"]
        requests.append({"op": "slotRemove", "number": before[0]["number"]})
        for proof, code in (({}, "badRequest"), ({"currentKey": key}, "denied"), ({"currentKey": "AAAA"}, "badRequest"),
                            ({"current": "a guess of a passphrase"}, "wrongPassphrase")):
            # kistd delays each guess.
            for request in requests[:1] if context.short and "current" in proof else requests:
                reply = connection.ask(**request, **proof)
                row.tries += 1
                if reply["ok"] or reply["error"]["code"] != code:
                    row.wrong.append(f"{request} with {proof} received {reply}")
        if owner.ask(op="slots")["slots"] != before:
            row.wrong.append("the slots were changed")
    kistd.stop()
    row.seconds = time.monotonic() - began
    return row


def guesses(context):
    """Guesses passphrases and reloads kistd, while another client loads."""
    began = time.monotonic()
    row, seconds = Row(what="guesses of a passphrase during reloads"), 8 if context.short else 32
    kistd = Kistd(context.kistd, context.folder / "guesses", passphrase=b"of the owner")
    guessed, slowest = 0, 0
    with kistd.start() as other, kistd.connect() as guesser:
        other.ask(op="save", service="s", account="a", secret="x")
        asked = time.monotonic()
        if not (reply := guesser.ask(op="unlock", passphrase="of the owner"))["ok"]:
            raise RuntimeError(f"an unlock received {reply}")
        derivation = time.monotonic() - asked
        end = time.monotonic() + seconds
        guesser.send(op="unlock", passphrase="a guess")
        while (asked := time.monotonic()) < end:
            kistd.process.send_signal(signal.SIGHUP)
            reply = other.ask(op="load", service="s", account="a")
            slowest = max(slowest, time.monotonic() - asked)
            if not reply["ok"]:
                row.wrong.append(f"a load received {reply}")
                break
            if select.select([guesser.stream], [], [], 0.05)[0]:
                if (reply := guesser.receive())["ok"] or reply["error"]["code"] != "wrongPassphrase":
                    row.got_in.append(f"a guess received {reply}")
                    break
                guessed += 1
                guesser.send(op="unlock", passphrase="a guess")
            row.tries += 1
    # The delays are 1, 2, 4, 8 and then 16 seconds.
    if guessed >= (seconds + 1).bit_length():
        row.wrong.append(f"kistd answered {guessed} guesses in {seconds} s")
    if guessed == 0:
        row.wrong.append("kistd answered no guess")
    if slowest > 0.5 + DERIVATIONS * derivation:
        row.wrong.append(f"a load took {slowest:.1f} s")
    kistd.stop()
    row.note, row.seconds = f"{guessed} guesses answered; a derivation took {derivation:.1f} s, the slowest load {slowest:.1f} s", time.monotonic() - began
    return row


def fill(connection):
    """Saves what the clients load: large secrets, and enough small ones to fill a page."""
    requests = [{"service": "large", "account": str(number), "secret": "x" * (512 << 10)} for number in range(4)]
    requests += [{"service": "small", "account": str(number), "secret": "x" * 20} for number in range(1000)]
    for first in range(0, len(requests), 50):
        for request in requests[first:first + 50]:
            connection.send(op="save", **request)
        for _ in requests[first:first + 50]:
            if not (reply := connection.receive())["ok"]:
                raise RuntimeError(f"a save received {reply}")


def attempt(kistd, name, keeps, row, seconds):
    """Returns how many times as long requests of others take, over new and over existing connections."""
    others = Others(kistd.socket)
    before = others.latencies(seconds)
    attackers = subprocess.Popen([sys.executable, ATTACKERS, name, str(kistd.socket)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, preexec_fn=allow_many_files)
    try:
        if attackers.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name} did not start")
        during = others.latencies(2 * seconds)
        has_kept = others.has_kept_the_idle_one()
    finally:
        said, _ = attackers.communicate()
    after = others.latencies(seconds)
    others.close()
    end = json.loads(said)
    row.tries += end["made"]
    row.note = (f"{end['busy']:,} received busy, {end['wordless']:,} were closed; the idle one is {'kept' if has_kept else 'lost'}; "
                f"{others.retried} of {others.asked:,} requests repeated")
    if others.refused:
        row.wrong.append(f"{others.refused:,} of {others.asked:,} requests of others failed three times each")
    if keeps and not has_kept:
        row.wrong.append("a client with an earlier request lost its idle connection")
    if end["busy"] and "evicted a connection" not in kistd.said():
        row.wrong.append("the log does not report evicted connections")
    return [statistics.median(slow) / statistics.median(one + other) for slow, one, other in zip(during, before, after)]


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))


def peak(kistd):
    """Returns the peak memory of kistd, in bytes."""
    status = Path(f"/proc/{kistd.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10
