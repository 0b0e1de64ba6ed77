"""A kistd whose memory is looked at."""

import time

from frame.kistd import Kistd
from scan.forms import WRITTEN
from scan.marks import Marks
from scan.memory import scan

PATIENCE = 20
# Changes of clients that have gone take no longer. Memory that is free is given back to the system only later.
LONGEST_CHANGES = 4
# Of a secret that kistd holds.
HELD = 200


class Served:
    """A kistd, and the marks of what it is given.

    So that a scan which finds nothing is one that finds what is there, kistd holds half a line all the while: a secret in each of
    the forms that are looked for, which is as it should be as long as the other half may come.
    """

    def __init__(self, context, name, *options, **more):
        self.marks = Marks(context.random("marks", name))
        self.held = Marks(context.random("held", name))
        self.kistd = Kistd(context.kistd, context.folder / name, *options, **more)

    def __enter__(self):
        self.kistd.start().close()
        self.await_that(lambda: self.clients() == 0)
        self.holder = self.kistd.connect()
        # Who has asked for nothing makes room for others.
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
        """How many connections it has: sockets of its path, but for the one that listens."""
        with open(f"/proc/{self.pid}/net/unix") as sockets:
            fields = [line.split() for line in sockets]
        return sum(each[-1] == str(self.kistd.socket) and each[3] == "00000000" for each in fields)

    def await_that(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("what was waited for did not come")
            time.sleep(0.001)

    def look(self, row, after):
        """Writes down what is left of secrets; throws where what is held is not found."""
        remains, held = scan(self.pid, self.marks, self.held)
        if not sees(held):
            raise RuntimeError("a scan did not find what kistd holds")
        row.tries += 1
        row.wrong += [f"after {after}: {each}" for each in remains]

    def look_when_they_have_gone(self, row, after):
        """The same when there are no clients any more but the one that sent half a line, and what the others sent is carried out."""
        self.await_that(lambda: self.clients() == 1)
        end = time.monotonic() + LONGEST_CHANGES
        while time.monotonic() < end and scan(self.pid, self.marks)[0]:
            time.sleep(0.05)
        self.look(row, after)

    def look_when_all_have_gone(self, row):
        """The same when that one has gone, too; nothing is left of what it sent."""
        self.holder.close()
        self.await_that(lambda: self.clients() == 0)
        row.tries += 1
        row.wrong += [f"after half a line: {each}" for each in scan(self.pid, self.held)[0]]


def sees(held):
    """Whether a scan has found what is held, in each form."""
    return {each.found.form.split(",")[0] for each in held if each.found.size >= HELD} == set(WRITTEN)
