"""The operations of kistd during a kill or a failing system call."""

import base64
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from faults.expectation import SERVICE
from frame.context import TORTURE
from frame.kistd import Ended, Kistd

THERE = {"alice": "correct horse", "bob": "battery staple"}
LARGE = "large " * 80_000
MIDDLING = LARGE[:60_000]


def save(account, secret):
    return {"op": "save", "service": SERVICE, "account": account, "secret": secret}


def delete(account):
    return {"op": "delete", "service": SERVICE, "account": account}


@dataclass
class Scenario:
    what: str
    # Fills an empty folder; returns the stored credentials.
    prepare: Callable
    # The changes while calls are numbered, sent at once, each over its own connection.
    changes: tuple = ()
    # The other requests then, which may only fail with the allowed errors.
    requests: tuple = ()
    # The requests before, which must all succeed.
    before: tuple = ()
    # Whether calls are numbered from the hardening on, not only from the requests on.
    from_start: bool = False
    # Whether kistd is stopped with SIGTERM.
    ends: bool = False
    passphrase: bytes | None = None
    # The old and the new passphrase of a store that also has a key file.
    change: tuple[str, str] | None = None

    def kistd(self, program, folder, **options):
        return Kistd(program, folder, "--deadline", "15s", passphrase=self.passphrase, **options)


def nothing(scenario, program, folder):
    """Creates no store."""
    folder.mkdir(mode=0o700)
    return {}


def closed(scenario, program, folder):
    """Creates a closed store."""
    kistd = scenario.kistd(program, folder)
    fill(kistd)
    kistd.stop()
    return THERE


def killed(scenario, program, folder):
    """Creates a store whose kistd was killed, so that its log must be recovered."""
    kistd = scenario.kistd(program, folder)
    fill(kistd)
    kistd.kill()
    kistd.socket.unlink()
    return THERE


def fill(kistd):
    with kistd.start() as connection:
        for account, secret in THERE.items():
            if not connection.ask(**save(account, secret))["ok"]:
                raise Ended


# A store with a cheap key derivation, from the tests of the encrypted file.
GOLDEN = TORTURE.parent / "KistFileTests/Golden/v1-passphrase.db"
PASSPHRASE = b"correct horse battery staple"


def with_passphrase(scenario, program, folder):
    """Creates a closed store that a passphrase opens."""
    kistd = scenario.kistd(program, folder)
    kistd.data.mkdir(mode=0o700)
    shutil.copy(GOLDEN, kistd.data / "credentials.db")
    fill(kistd)
    with kistd.connect() as connection:
        for each in connection.ask(op="find")["credentials"]:
            if each["service"] != SERVICE:
                connection.ask(op="delete", service=each["service"], account=each["account"])
    kistd.stop()
    return THERE


CHANGE = ("the old one", "the new one")


def with_both(scenario, program, folder):
    """Creates a closed store that a key file and a passphrase open."""
    kistd = scenario.kistd(program, folder)
    fill(kistd)
    with kistd.connect() as connection:
        key = base64.b64encode((kistd.folder / "key").read_bytes()).decode()
        if not connection.ask(op="slotAdd", passphrase=CHANGE[0], currentKey=key)["ok"]:
            raise Ended
    kistd.stop()
    return THERE


SCENARIOS = {
    "insert": Scenario("a save of a new credential", closed, changes=(save("carol", "new"),)),
    "replace": Scenario("a save over a credential", closed, changes=(save("alice", "new"),)),
    "delete": Scenario("a delete", closed, changes=(delete("alice"),)),
    "large": Scenario("a save of 60,000 bytes", closed, changes=(save("alice", MIDDLING),)),
    "first save": Scenario(
        "the first save of a store", nothing, changes=(save("carol", "new"),)),
    # SQLite copies the log into the database at 1,000 pages; each of these saves takes 18.
    "checkpoint": Scenario(
        "a save that checkpoints the log", closed, before=(save("bob", MIDDLING),) * 55,
        changes=(save("alice", MIDDLING),)),
    "batch": Scenario(
        "eight changes at once", closed,
        changes=(save("alice", "new"), delete("bob"), *(save(f"new {number}", "new") for number in range(6)))),
    "first start": Scenario("the first start, which creates the key and the store", nothing, from_start=True),
    "start": Scenario("a start on a store", closed, from_start=True),
    "start after a kill": Scenario("a start on a store that was not closed", killed, from_start=True),
    "end": Scenario("the end, which checkpoints the log", closed,
                    before=(save("bob", "newer"), save("carol", LARGE)), ends=True),
    "lock and unlock": Scenario("lock and unlock with the key file", closed,
                                requests=({"op": "lock"}, {"op": "unlock"})),
    "passphrase, start": Scenario(
        "a start with a passphrase", with_passphrase, from_start=True, passphrase=PASSPHRASE),
    "passphrase, unlock": Scenario(
        "unlock with a passphrase", with_passphrase, before=({"op": "lock"},),
        requests=({"op": "unlock", "passphrase": PASSPHRASE.decode()},), passphrase=PASSPHRASE),
    "passphrase, change": Scenario(
        "a change of the passphrase", with_both, change=CHANGE,
        requests=({"op": "slotAdd", "current": CHANGE[0], "passphrase": CHANGE[1], "replaceCurrent": True},)),
    "passphrase, first start": Scenario(
        "the first start with a passphrase", nothing, from_start=True, passphrase=PASSPHRASE),
}
# Deriving a key from a new passphrase takes half a second, so these are limited in time.
SLOW = {"passphrase, change", "passphrase, first start"}


class Template:
    """The initial state of a scenario, created once and copied for each attempt."""

    def __init__(self, scenario, program, folder):
        self.folder = Path(folder)
        self.there = scenario.prepare(scenario, program, self.folder)
        (self.folder / "log").unlink(missing_ok=True)

    def copy(self, folder):
        shutil.copytree(self.folder, folder)
