"""Saves and loads that fail or wait: a full or slow disk, a locked or damaged store, a keyring that does not answer."""

import signal
import sqlite3
import subprocess
from contextlib import contextmanager

from scan.served import Served

SIZES = (100, 5000, 200_000)
# Longer than a busy machine needs, and shorter than the delays here.
DEADLINE, DELAY = ("--deadline", "1s"), "2500ms"
ATTEMPTS = 20
FLUSHES, WRITES = "fsync,fdatasync", "pwrite64,ftruncate,fallocate"


def save(connection, account, secret):
    return connection.ask(op="save", service="faults", account=account, secret=secret.decode())


def expect(row, code, *replies):
    row.wrong += [f"{reply} instead of {code}" for reply in replies if reply.get("error", {}).get("code") != code]


@contextmanager
def calls(pid, which, fault):
    """Makes system calls of a process fail or wait, with the syntax of strace(1)."""
    strace = subprocess.Popen(
        ["strace", "-f", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={which}", "-e", f"inject={which}:{fault}"],
        stderr=subprocess.PIPE, text=True)
    if "attached" not in (said := strace.stderr.readline()):
        raise RuntimeError(f"strace: {said}")
    try:
        yield
    finally:
        strace.terminate()
        strace.communicate()


def save_each(served, accounts):
    """Saves a secret of each size at once, each over its own connection; returns the replies."""
    connections = [served.kistd.connect() for _ in SIZES]
    for connection, size in zip(connections, SIZES):
        secret = served.marks.secret(size).decode()
        connection.send(op="save", service="faults", account=f"{accounts} {size}", secret=secret)
    replies = [connection.receive() for connection in connections]
    for connection in connections:
        connection.close()
    return replies


def keep(served):
    """Saves the credentials to load, with repetitions if the deadline is too short."""
    for _ in range(ATTEMPTS):
        if all(reply["ok"] for reply in save_each(served, "kept")):
            return
    raise RuntimeError("the credentials to load could not be saved")


def look_at_file(row, context):
    with Served(context, "faults", *DEADLINE) as served:
        with served.kistd.connect() as connection:
            with calls(served.pid, WRITES, "error=ENOSPC"):
                expect(row, "full", *save_each(served, "full"))
                served.look(row, "saves to a full disk")
            keep(served)
            with calls(served.pid, FLUSHES, f"delay_enter={DELAY}"):
                expect(row, "timeout", *save_each(served, "slow"))
                # kistd answers this after all queued changes.
                while "error" in connection.ask(op="delete", service="nobody"):
                    pass
            served.look(row, "saves that took longer than their deadline")
            connection.ask(op="lock")
            expect(row, "locked", *save_each(served, "locked"))
            served.look(row, "saves to a locked store")
            connection.ask(op="unlock")
            served.look(row, "unlocking it")
    for column in ("secret", "metadata"):
        damage(served.kistd.data / "credentials.db", column)
        with served, served.kistd.connect() as connection:
            expect(row, "corrupt", *(
                connection.ask(op="load", service="faults", account=f"kept {size}") for size in SIZES))
            served.look(row, f"loads of damaged credentials, their {column}")


def damage(store, column):
    """Flips a bit at the end of each value of a column. No process may have the store open."""
    database = sqlite3.connect(store)
    rows = database.execute(f"SELECT address, {column} FROM credential").fetchall()
    database.executemany(f"UPDATE credential SET {column} = ? WHERE address = ?",
                         [(body[:-1] + bytes([body[-1] ^ 1]), address) for address, body in rows])
    database.commit()
    database.close()


def look_at_keyring(row, context, storage, keyring):
    with Served(context, "mute", *DEADLINE, **storage) as served:
        keep(served)
        provider = keyring.processes[-1]
        provider.send_signal(signal.SIGSTOP)
        try:
            expect(row, "timeout", *save_each(served, "mute"))
            served.look(row, "saves that the keyring did not answer")
            with served.kistd.connect() as connection:
                expect(row, "timeout", connection.ask(op="load", service="faults", account=f"kept {SIZES[-1]}"))
            served.look(row, "a load that the keyring did not answer")
        finally:
            provider.send_signal(signal.SIGCONT)
        with served.kistd.connect() as connection:
            while "error" in connection.ask(op="delete", service="nobody"):
                pass
            served.look(row, "the answers of the keyring, which came too late")
            connection.ask(op="lock")
            expect(row, "locked", *save_each(served, "locked"))
            served.look(row, "saves to a locked keyring")
