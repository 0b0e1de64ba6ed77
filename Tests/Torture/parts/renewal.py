"""`kistd rekey` and `kistd restore`, killed at every system call, with each call failing, and with power cuts."""

import copy
import errno
import itertools
import shutil
import time
from pathlib import Path

from faults import disk
from faults.attempt import KILLS, STATUSES
from faults.expectation import Broken
from faults.recording import RECORDED, Replay
from faults.renewals import RENEWALS
from faults.scenarios import Template
from frame import calls
from frame.row import Row
from frame.tracer import ALL, FAIL_AFTER, FOR_EVER, Calls, Hit, Tracer
from parts.crash import FAILURES, Failure
from parts.powercut import choices, digest

# A network file system may rename a file, lose the reply, and find nothing to do when the call is repeated.
NAMING = Calls(of_files=frozenset(calls.THAT_NAME))
FAILURES_OF_RENEWALS = [*FAILURES, *(Failure(NAMING, FAIL_AFTER, error) for error in (errno.EIO, errno.ENOENT))]


class Renewals:
    def __init__(self, context, name):
        self.context, self.name, self.renewal = context, name, RENEWALS[name]
        self.program = context.compile(Path("tracer/tracer.c"))
        self.template = Template(self.renewal, context.kistd, context.folder / f"template {name}")
        self.numbers = itertools.count()

    def folder(self):
        folder = self.context.folder / f"{self.name} {next(self.numbers)}"
        folder.mkdir()
        self.template.copy(folder / "home")
        return folder

    def traced(self, folder, counted=ALL, hit=Hit()):
        """Runs the command; returns the exit status, the output, the number of faults, and the calls."""
        tracer = Tracer(self.program, folder, counted, hit, from_hardening=True)
        status, said = self.renewal.run(self.context.kistd, folder / "home", tracer.under)
        return status, said, tracer.control.hits, list(tracer.events())

    def calls(self):
        folder = self.folder()
        status, said, _, events = self.traced(folder)
        if status != 0:
            raise Broken("wrong", f"{self.name} ended with {status}: {said}")
        self.renewal.check(self.context.kistd, folder / "home", self.template.there)
        shutil.rmtree(folder)
        return [event for event in events if not event.ends]

    def faults(self):
        made = self.calls()
        faults = [(ALL, Hit(action, at, at), None) for at in range(1, len(made) + 1) for action in KILLS]
        for failure in FAILURES_OF_RENEWALS:
            for at in range(1, sum(map(failure.counted.has, made)) + 1):
                last = FOR_EVER if failure.lasts else at
                faults.append((failure.counted, Hit(failure.action, at, last, failure.error), failure))
        self.context.random("renewal", self.name).shuffle(faults)
        return faults

    def attempt(self, fault):
        counted, hit, failure = fault
        folder, events = self.folder(), []
        try:
            status, said, hits, events = self.traced(folder, counted, hit)
            if failure and status != 0 and not failure.may_end:
                if status not in [STATUSES[code] for code in failure.codes] or "kistd: " not in said:
                    raise Broken("wrong", f"it ended with {status}: {said}")
            self.renewal.check(self.context.kistd, folder / "home", self.template.there)
            return hits, None
        except Broken as broken:
            call = next((str(event) for event in events if event.hit), "none")
            where = f"{self.name}, {hit} {call}"
            kept = self.context.keep(folder, where.replace("/", "_")[:100])
            return 1, Broken(broken.kind, f"{where}: {broken}; kept in {kept}")
        finally:
            shutil.rmtree(folder)

    def cuts(self):
        """Yields each possible disk after a power cut once."""
        folder = self.folder()
        before = disk.taken_in(folder / "home")
        events = self.traced(folder, RECORDED)[3]
        self.check_that_it_sees(folder, copy.deepcopy(before), events)
        random, seen = self.context.random("renewal cuts", self.name), set()
        for number, _ in enumerate(Replay(folder / "home", before).steps(events)):
            for choice in choices(random):
                image = disk.image(before, choice)
                if (mark := digest(image)) not in seen:
                    seen.add(mark)
                    yield number, choice.name, image

    def check_that_it_sees(self, folder, root, events):
        """Checks that this part finds names without bytes on a disk that ignores flushes."""
        for _ in Replay(folder / "home", root, ignoring_flushes=True).steps(events):
            pass
        image = self.context.folder / f"{self.name} without bytes"
        disk.lay_out(disk.image(root, disk.NAMES_ONLY), image)
        try:
            self.renewal.check(self.context.kistd, image, self.template.there)
        except Broken:
            return
        raise RuntimeError("the loss on a disk that ignores flushes was not found")

    def check_cut(self, cut):
        number, choice, image = cut
        folder = self.context.folder / f"{self.name} image {next(self.numbers)}"
        disk.lay_out(image, folder)
        try:
            self.renewal.check(self.context.kistd, folder, self.template.there)
            return 1, None
        except Broken as broken:
            where = f"{self.name}, cut after step {number}, {choice} on the disk"
            return 1, Broken(broken.kind, f"{where}: {broken}; kept in {self.context.keep(folder, where)}")
        finally:
            shutil.rmtree(folder)

    def row(self, what, work, items, until):
        row = Row(what=what)
        began = time.monotonic()
        for hits, broken in self.context.each(work, items, until):
            row.tries += hits > 0
            if broken:
                getattr(row, broken.kind).append(str(broken))
        row.seconds = time.monotonic() - began
        return row


def run(context):
    rows = 2 * len(RENEWALS)
    for number, name in enumerate(RENEWALS):
        renewals, what = Renewals(context, name), RENEWALS[name].what
        for half, (how, work, items) in enumerate((
                ("killed at every system call, or with the call failing", renewals.attempt, renewals.faults),
                ("with power cuts", renewals.check_cut, renewals.cuts))):
            left = context.began + context.seconds - time.monotonic()
            until = time.monotonic() + left / (rows - 2 * number - half) if context.short else float("inf")
            yield renewals.row(f"{what}, {how}", work, items(), until)
