"""Commands of kistd that create or replace a store, and the required state after them."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from faults.expectation import Broken, Expectation, check_after
from faults.scenarios import PASSPHRASE, Scenario, closed, killed, with_passphrase
from frame.kistd import Kistd

PATIENCE = 60


@dataclass
class Renewal:
    what: str
    words: tuple[str, ...]
    prepare: Callable
    # The standard input.
    given: bytes = b""
    # Whether there is a store before, and so also afterwards.
    has_store: bool = True

    # The field of a scenario that `prepare` reads.
    passphrase = None

    def kistd(self, program, folder, **options):
        return Kistd(program, folder, "--deadline", "15s", **options)

    def run(self, program, folder, under=()):
        """Runs the command; returns the exit status and the standard error."""
        kistd = self.kistd(program, folder)
        command = [*under, program, *self.words, "--data", kistd.data, "--key-file", kistd.folder / "key"]
        done = subprocess.run(command, env=kistd.environment, cwd=folder, input=self.given, capture_output=True,
                              timeout=PATIENCE, check=False)
        return done.returncode, done.stderr.decode(errors="replace")

    def check(self, program, folder, there):
        """Checks that everything is stored, and that the command then succeeds."""
        expectation = Expectation(there)
        kistd = self.kistd(program, folder)
        has_store = (kistd.data / "credentials.db").exists()
        if self.has_store and not has_store:
            raise Broken("lost", "there is no store")
        if has_store:
            self.serve(kistd, expectation)
            check_leftovers(kistd)
        status, said = self.run(program, folder)
        if status != (0 if self.has_store or not has_store else 3):
            raise Broken("wrong", f"afterwards it ended with {status}: {said}")
        self.serve(kistd, expectation)
        check_leftovers(kistd)

    def serve(self, kistd, expectation):
        try:
            check_after(kistd, expectation)
        finally:
            kistd.kill()


def check_leftovers(kistd):
    """Checks that, after a start of kistd, there are no temporary files and no duplicate keys."""
    names = [path.name for folder in {kistd.folder, kistd.data} for path in folder.iterdir()]
    left = [name for name in names if ".new" in name or ".next-" in name or name == "credentials.db.backup"]
    if left:
        raise Broken("wrong", f"left over: {left}")
    keys = [path.read_bytes() for path in kistd.folder.glob("key*")]
    if len(set(keys)) != len(keys):
        raise Broken("wrong", f"a current key is also kept as a former key: {names}")


def backup(scenario, program, folder):
    """Creates a backup with a cheap key derivation, and no store."""
    there = with_passphrase(Scenario("", with_passphrase, passphrase=PASSPHRASE), program, folder)
    (folder / "data" / "credentials.db").rename(folder / "backup")
    shutil.rmtree(folder / "data")
    for each in folder.glob("kist.sock*"):
        each.unlink()
    return there


RENEWALS = {
    "rekey": Renewal("kistd rekey", ("rekey",), closed),
    "rekey after a kill": Renewal("kistd rekey of a store that was not closed", ("rekey",), killed),
    "restore": Renewal("kistd restore", ("restore", "backup"), backup, given=PASSPHRASE, has_store=False),
}
