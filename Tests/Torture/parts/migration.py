"""A crash of `kistd migrate` at every system call, to a keyring (gnome-keyring) and back."""

import errno
import subprocess
import sys
import time
from pathlib import Path

from faults.expectation import Broken, Expectation, check_after
from faults.scenarios import THERE, save
from frame import calls
from frame.context import TORTURE
from frame.kistd import Kistd
from frame.row import Row
from frame.tracer import FAIL, KILL_AFTER, KILL_BEFORE, Calls, Hit, Tracer

sys.path.append(str(TORTURE.parent.parent / "Benchmarks"))
from driver.keyring import Keyring  # noqa: E402

# The calls on files and on the bus. Other calls change nothing outside of the process.
COUNTED = Calls(of_files=frozenset(calls.OF_FILES), of_sockets=frozenset(calls.THAT_WAIT))
FILES = Calls(of_files=frozenset(calls.OF_FILES))
KINDS = ("libsecret", "encrypted-file")


class Migrations:
    """A home whose credentials move back and forth. An interrupted migration is completed before the next."""

    def __init__(self, context, keyring):
        self.context = context
        self.tracer = context.compile(Path("tracer/tracer.c"))
        self.kistd = Kistd(context.kistd, context.folder / "home", storage="auto",
                           DBUS_SESSION_BUS_ADDRESS=keyring.address)
        self.expectation = Expectation({})

    def fill(self):
        """Saves the first credentials in the keyring, which kistd prefers."""
        with self.kistd.start() as connection:
            for account, secret in THERE.items():
                request = save(account, secret)
                self.expectation.asked(request, connection.ask(**request))
        self.kistd.stop()

    def migrate(self, kind, under=()):
        """Moves the credentials; returns the exit status and the output."""
        command = [*under, self.context.kistd, "migrate", "--to", kind, "--data", self.kistd.data,
                   "--key-file", self.kistd.folder / "key"]
        done = subprocess.run(command, env=self.kistd.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def check(self):
        """Checks what kistd serves from its current storage."""
        with self.kistd.start() as connection:
            self.expectation.check(connection)
            page = connection.ask(op="find", service="torture")
            if not page["ok"] or len(page["credentials"]) != len(THERE):
                raise Broken("lost", f"a find returns {page}")
        self.kistd.stop()
        self.kistd.log.unlink()

    def count(self, kind):
        """Returns the number of calls, and of those on files."""
        tracer = Tracer(self.tracer, self.context.folder, COUNTED, from_hardening=True)
        self.finish(kind, tracer.under)
        return sum(not event.ends for event in tracer.events()), sum(
            not event.ends and FILES.has(event) for event in tracer.events())

    def finish(self, kind, under=()):
        status, said = self.migrate(kind, under)
        if status != 0:
            raise Broken("wrong", f"it ended with {status}: {said}")
        self.check()

    def cut_off(self, kind, counted, hit):
        """Interrupts a migration, checks what kistd serves, and completes it; returns whether a call was hit."""
        tracer = Tracer(self.tracer, self.context.folder, counted, hit, from_hardening=True)
        status, said = self.migrate(kind, tracer.under)
        if hit.action == FAIL and status != 0 and "kistd: " not in said:
            raise Broken("wrong", f"it ended with {status} and printed {said!r}")
        self.check()
        self.finish(kind)
        return tracer.control.hits > 0


def run(context):
    keyring = Keyring(context.folder)
    keyring.start()
    try:
        migrations = Migrations(context, keyring)
        migrations.fill()
        yield torture(context, migrations)
    finally:
        keyring.stop()


def torture(context, migrations):
    row = Row(what="kistd migrate to a keyring and back, killed at every system call, or with the call failing")
    began = time.monotonic()
    hits = {}
    for kind in reversed(KINDS):
        number, files = migrations.count(kind)
        hits[kind] = [(COUNTED, Hit(action, at, at)) for at in range(1, number + 1) for action in (KILL_BEFORE, KILL_AFTER)]
        hits[kind] += [(FILES, Hit(FAIL, at, at, error)) for at in range(1, files + 1)
                       for error in (errno.EIO, errno.ENOSPC)]
        context.random("migration", kind).shuffle(hits[kind])
    until = context.began + context.seconds if context.short else float("inf")
    while any(hits.values()) and (not row.tries or time.monotonic() < until) and not row.findings:
        for kind in reversed(KINDS):
            if not hits[kind]:
                migrations.finish(kind)
                continue
            counted, hit = hits[kind].pop()
            try:
                row.tries += migrations.cut_off(kind, counted, hit)
            except Broken as broken:
                # All migrations use the same store, so later ones would find the same damage again.
                kept = context.keep(migrations.kistd.folder, "home")
                getattr(row, broken.kind).append(f"to {kind}, {hit}: {broken}; kept in {kept}")
                break
    row.seconds = time.monotonic() - began
    return row
