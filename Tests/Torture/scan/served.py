"""A kistd whose memory is scanned."""

import time

from frame.kistd import Kistd
from scan.forms import WRITTEN
from scan.marks import Marks
from scan.memory import scan

PATIENCE = 20
# The longest time for changes of disconnected clients. Free memory is returned to the system only later.
LONGEST_CHANGES = 4
# The size of the secret that kistd holds.
HELD = 200


class Served:
    """A kistd, and the marks of the secrets that it receives.

    To show that a scan works, kistd always holds half a line with a secret in each form. That is correct, as the other half
    may still arrive.
    """

    def __init__(self, context, name, *options, **more):
        self.marks = Marks(context.random("marks", name))
        self.held = Marks(context.random("held", name))
        self.kistd = Kistd(context.kistd, context.folder / name, *options, **more)

    def __enter__(self):
        self.kistd.start().close()
        self.await_that(lambda: self.clients() == 0)
        self.holder = self.kistd.connect()
        # A connection without a request would be evicted first.
        self.holder.ask(op="hello")
        secret = self.held.secret(HELD)
        self.holder.stream.sendall(b'{"op":"save",' + b",".join(write(secret) for write in WRITTEN.values()))
        self.await_that(lambda: sees(scan(self.pid, self.held)[0]))
        return self

    def __exit__(self, *_):
        self.holder.close()
        self.kistd.stop()

    @property
    def pid(self):
        return self.kistd.process.pid

    def clients(self):
        """Returns the number of connections: the sockets of its path, except the listening one."""
        with open(f"/proc/{self.pid}/net/unix") as sockets:
            fields = [line.split() for line in sockets]
        return sum(each[-1] == str(self.kistd.socket) and each[3] == "00000000" for each in fields)

    def await_that(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("a condition was not met in time")
            time.sleep(0.001)

    def look(self, row, after):
        """Scans for secrets and adds findings to the row; throws if the held secret is not found."""
        remains, held = scan(self.pid, self.marks, self.held)
        if not sees(held):
            raise RuntimeError("a scan did not find the secret that kistd holds")
        row.tries += 1
        row.wrong += [f"after {after}: {each}" for each in remains]

    def look_when_clients_have_gone(self, row, after):
        """Scans once only the holder is connected and all requests of other clients are done."""
        self.await_that(lambda: self.clients() == 1)
        end = time.monotonic() + LONGEST_CHANGES
        while time.monotonic() < end and scan(self.pid, self.marks)[0]:
            time.sleep(0.05)
        self.look(row, after)

    def look_when_all_have_gone(self, row):
        """Scans once the holder has disconnected, too; nothing of its line may be left."""
        self.holder.close()
        self.await_that(lambda: self.clients() == 0)
        row.tries += 1
        row.wrong += [f"after half a line: {each}" for each in scan(self.pid, self.held)[0]]


def sees(held):
    """Returns whether a scan has found the held secret in each form."""
    return {each.found.form.split(",")[0] for each in held if each.found.size >= HELD} == set(WRITTEN)
