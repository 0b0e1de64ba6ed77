"""Passphrases and keys in the memory of kistd and of kist."""

import os
import sqlite3
import sys

from frame.context import TORTURE
from scan.memory import regions_with, scan
from scan.served import Served
from scan.terminal import Terminal

sys.path.append(str(TORTURE.parent / "Reader"))
import kist_reader  # noqa: E402

PROMPT = b"assphrase: "
# The question of a command that finds the storage locked.
OFFER = b"assphrase of the encrypted file: "
# More than the capacity of a pipe.
LARGE = 400_000


def look(row, context):
    served = Served(context, "passphrases")
    right = give(served)
    with served, served.kistd.connect() as connection:
        served.look(row, "a start with a passphrase")
        connection.ask(op="save", service="large", secret=served.marks.secret(LARGE).decode())
        for size, code in ((20, "wrongPassphrase"), (1024, "wrongPassphrase"), (1025, "tooLarge")):
            reply = connection.ask(op="unlock", passphrase=served.marks.secret(size).decode())
            if reply.get("error", {}).get("code") != code:
                row.wrong.append(f"a wrong passphrase of {size} bytes received {reply}")
            served.look(row, f"a wrong passphrase of {size} bytes")
        connection.ask(op="lock")
        served.look(row, "lock")
        with served.kistd.connect() as leaving:
            leaving.send(op="unlock", passphrase=right.decode())
        served.await_that(lambda: not connection.ask(op="status")["status"]["locked"])
        served.look(row, "an unlock whose client did not wait")
        look_at_change(row, served, connection, right)
        look_at_backup(row, served, connection)
        for passphrase, status in ((served.marks.secret(30), 11), (right, 0)):
            connection.ask(op="lock")
            typing = kist(context, served, "unlock")
            typing.type(passphrase, PROMPT)
            if (ended := typing.end()) != status or passphrase in typing.said:
                row.wrong.append(f"kist unlock ended with {ended} and showed {typing.said}")
            served.look(row, f"kist unlock, which ended with {status}")
        connection.ask(op="lock")
        look_at_kist(row, context, served, right)
    look_at_keys(row, served, right)
    look_at_unit(row, context)


def give(served):
    """Makes a kistd read a passphrase from a descriptor; returns the passphrase."""
    options = served.kistd.command
    del options[options.index("--key-file"):][:2]
    served.kistd.passphrase = served.marks.secret(60)
    return served.kistd.passphrase


def look_at_change(row, served, connection, right):
    """Adds a second passphrase, and removes it."""
    new, wrong = (served.marks.secret(50).decode() for _ in range(2))
    for what, request in {
        "wrongPassphrase": {"op": "slotAdd", "passphrase": new, "current": wrong},
        "tooLarge": {"op": "slotAdd", "passphrase": served.marks.secret(1025).decode(), "current": right.decode()},
        "a new passphrase": {"op": "slotAdd", "passphrase": new, "current": right.decode()},
        "its removal": {"op": "slotRemove", "number": 2, "current": right.decode()},
    }.items():
        reply = connection.ask(**request)
        if reply.get("error", {}).get("code", what) != what:
            row.wrong.append(f"{what} received {reply}")
        served.look(row, f"{request['op']}: {what}")


def look_at_backup(row, served, connection):
    """Makes a backup with its own passphrase and reads all of it, and another one that it does not read."""
    for what, all_of_it in {"a backup": True, "a backup that is not read": False}.items():
        backup = connection.ask(op="backup", passphrase=served.marks.secret(50).decode())
        while "size" not in backup:
            backup = connection.ask(op="backup", backup=backup["backup"])
        for offset in range(0, backup["size"], 524288) if all_of_it else ():
            connection.ask(op="backupPart", backup=backup["backup"], offset=offset)
        served.look(row, what)


def kist(context, served, *words, output=None):
    return Terminal([str(context.kist), *words], served.kistd.environment | {"KIST_SOCKET": str(served.kistd.socket)}, output)


def look_at_kist(row, context, served, right):
    """Checks a kist that read the passphrase and waits to write a secret: it holds the secret, but not the passphrase."""
    reading, writing = os.pipe()
    typing = kist(context, served, "load", "large", output=writing)
    os.close(writing)
    typing.type(right, OFFER)
    os.read(reading, 1)
    remains, = scan(typing.pid, served.marks)
    row.tries += 1
    row.wrong += [f"kist, unlocked: {each}" for each in remains if each.found.secret == right]
    if not any(len(each.found.secret) == LARGE for each in remains):
        raise RuntimeError("a scan did not find the secret that kist holds")
    typing.kill()
    os.close(reading)


def look_at_keys(row, served, right):
    """Checks that subkeys are only in guarded pages while the store is open, and that other keys are not in memory."""
    database = sqlite3.connect(served.kistd.data / "credentials.db")
    master, _, _ = kist_reader.read_store(database, kist_reader.PASSPHRASE, right)
    (slot,), = database.execute("SELECT body FROM slot").fetchall()
    database.close()
    passing = [master, kist_reader.wrapping_key(slot, right)]
    with served, served.kistd.connect() as connection:
        for number, subkey in enumerate(kist_reader.subkeys(master)):
            regions = regions_with(served.pid, subkey)
            row.tries += 1
            if [(each.permissions, each.name, each.end - each.start) for each in regions] != [("r--p", "", 4096)]:
                row.wrong.append(f"subkey {number + 1} is in {', '.join(map(str, regions)) or 'no page at all'}")
        for state in ("open", "locked"):
            for number, key in enumerate(passing + kist_reader.subkeys(master) * (state == "locked")):
                row.tries += 1
                row.wrong += [f"key {number} is in {each} of a kistd that is {state}" for each in regions_with(served.pid, key)]
            connection.ask(op="lock")


def look_at_unit(row, context):
    """Checks a kistd that got the passphrase from a service manager."""
    credentials = context.folder / "credentials"
    credentials.mkdir()
    served = Served(context, "unit", CREDENTIALS_DIRECTORY=str(credentials))
    file = credentials / "kist.passphrase"
    file.touch(0o600)
    file.write_bytes(served.marks.secret(60))
    with served:
        served.look(row, "a start with the passphrase of a unit")
        with served.kistd.connect() as connection:
            connection.ask(op="lock")
        served.look(row, "lock")
