"""Rollback: kistd is killed or stopped at random moments, and its store is replaced by an earlier copy."""

import shutil
import subprocess
import time

from frame.kistd import Ended, Kistd
from frame.row import Row

OLDER = "the store is an older copy"
BEFORE_REKEY = "from before a `kistd rekey`"
# Twice the longest delay of a progress note, for a busy machine.
NOTED = 2.5


def run(context):
    row = Row(what="a store replaced by an earlier copy")
    began = time.monotonic()
    random = context.random("rollback")
    refused = opened = 0
    while row.tries < 5 or time.monotonic() < began + context.seconds:
        folder = context.folder / f"store-{row.tries}"
        life = Life(context, folder, random, row)
        killed = life.live(copying=False)
        if not life.opens():
            row.wrong.append(f"a store of a kistd that was {killed} is refused: {life.kistd.said()[-300:]}; {context.keep(folder, str(row.tries))}")
        else:
            opened += 1
        life.live(copying=True)
        life.put_back()
        if life.opens():
            row.got_in.append(f"an earlier store is opened; {context.keep(folder, str(row.tries))}")
        elif OLDER not in life.kistd.said():
            row.wrong.append(f"an earlier store is refused for another reason: {life.kistd.said()[-300:]}")
        else:
            refused += 1
        if not life.opens("--accept-rollback") or not life.opens():
            row.wrong.append(f"an accepted earlier store is refused: {life.kistd.said()[-300:]}")
        row.tries += 1
        shutil.rmtree(folder, ignore_errors=True)
    row.note = f"{opened} current stores opened, {refused} earlier ones refused"
    row.seconds = time.monotonic() - began
    yield row
    yield rekeyed(context, random)


def rekeyed(context, random):
    row, began = Row(what="a store replaced by a copy from before `kistd rekey`"), time.monotonic()
    for number in range(2 if context.short else 20):
        folder = context.folder / f"rekeyed-{number}"
        life = Life(context, folder, random, row)
        life.live(copying=False)
        former = folder / "former"
        shutil.copytree(life.kistd.data, former)
        shutil.copy(folder / "key", folder / "former-key")
        life.live(copying=False)
        subprocess.run([context.kistd, "rekey", "--data", life.kistd.data, "--key-file", folder / "key"],
                       env=life.kistd.environment, check=True, capture_output=True, timeout=60)
        life.kistd.data.rename(folder / "newer")
        shutil.copy(folder / "key", folder / "newer-key")
        for key in ("newer-key", "former-key"):
            shutil.copytree(former, life.kistd.data, dirs_exist_ok=True)
            shutil.copy(folder / key, folder / "key")
            row.tries += 1
            if life.opens():
                row.got_in.append(f"a copy from before a rekey is opened with the {key}; {context.keep(folder, key)}")
            elif key == "former-key" and BEFORE_REKEY not in life.kistd.said():
                row.wrong.append(f"a copy from before a rekey is refused for another reason: {life.kistd.said()[-300:]}")
        shutil.rmtree(life.kistd.data)
        (folder / "newer").rename(life.kistd.data)
        shutil.copy(folder / "newer-key", folder / "key")
        if not life.opens():
            row.wrong.append(f"the newer store is refused: {life.kistd.said()[-300:]}")
        shutil.rmtree(folder, ignore_errors=True)
    row.seconds = time.monotonic() - began
    return row


class Life:
    """A store, and a copy of it from an earlier moment."""

    def __init__(self, context, folder, random, row):
        self.context, self.random, self.row = context, random, row
        self.saved, self.copied = {}, {}  # The secret of each account, now and in the copy.
        self.kistd = Kistd(context.kistd, folder)
        self.copy = folder / "copy"

    def save(self, connection):
        for _ in range(self.random.randrange(1, 20)):
            account, secret = str(self.random.randrange(8)), str(self.random.getrandbits(64))
            connection.ask(op="save", service="rollback", account=account, secret=secret)
            self.saved[account] = secret

    def live(self, copying):
        """Starts kistd, saves, and stops or kills it; returns which.

        With `copying`, copies the store before the start, and waits for the progress note."""
        if copying:
            shutil.copytree(self.kistd.data, self.copy)
            self.copied = dict(self.saved)
        with self.kistd.start() as connection:
            self.save(connection)
            if copying:
                time.sleep(NOTED)
            else:
                time.sleep(self.random.uniform(0, NOTED))
            self.save(connection)
        if self.random.random() < 0.5:
            self.kistd.kill()
            return "killed"
        self.kistd.stop()
        return "stopped"

    def put_back(self):
        shutil.rmtree(self.kistd.data)
        shutil.copytree(self.copy, self.kistd.data)
        self.saved = self.copied

    def opens(self, *options):
        """Returns whether kistd serves the store as intact, and checks its content."""
        self.kistd.log.unlink(missing_ok=True)
        command = self.kistd.command
        self.kistd.command = [*command, *options]
        try:
            with self.kistd.start() as connection:
                while (integrity := connection.ask(op="status")["status"].get("integrity")) == "checking":
                    time.sleep(0.001)
                if integrity is None:  # It is locked, because the key file opens no key slot.
                    return False
                self.check_content(connection)
                return integrity == "ok"
        except Ended:
            return False
        finally:
            self.kistd.command = command
            if self.kistd.process is not None and self.kistd.process.poll() is None:
                self.kistd.stop()

    def check_content(self, connection):
        for account, secret in self.saved.items():
            reply = connection.ask(op="load", service="rollback", account=account)
            if reply.get("credential", {}).get("secret") != secret:
                kept = self.context.keep(self.kistd.folder, f"{self.row.tries}-content")
                self.row.lost.append(f"an opened store answers {reply} instead of a saved secret; {kept}")
