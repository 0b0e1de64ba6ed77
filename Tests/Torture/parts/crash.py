"""A crash at every system call: kistd is killed before it and after it, and the call fails."""

import errno
import itertools
import time
from dataclasses import dataclass
from pathlib import Path

from faults.attempt import KILLS, Attempt, Fault
from faults.scenarios import SCENARIOS, SLOW, Template
from frame import calls
from frame.row import Row
from frame.tracer import FAIL, FOR_EVER, SHORTEN, Calls, Hit

UNAVAILABLE, FULL = ("unavailable",), ("full",)


@dataclass(frozen=True)
class Failure:
    """The calls that fail, and how they fail."""
    counted: Calls
    action: int
    error: int = 0
    codes: tuple = UNAVAILABLE
    # Whether all calls fail until the answer, or only one.
    lasts: bool = False
    may_end: bool = False


FILES = Calls(of_files=frozenset(calls.OF_FILES))
SPACE = Calls(of_files=frozenset(calls.THAT_TAKE_SPACE))
# If SQLite cannot create its log, it tries to read one, and only reports that it is missing.
CREATING = Calls(creating=frozenset(calls.THAT_CREATE))
FAILURES = [
    *(Failure(FILES, FAIL, errno.EIO, lasts=lasts) for lasts in (False, True)),
    *(Failure(SPACE, FAIL, error, FULL, lasts=lasts)
      for error in (errno.ENOSPC, errno.EDQUOT) for lasts in (False, True)),
    *(Failure(CREATING, FAIL, error, FULL + UNAVAILABLE, lasts=lasts)
      for error in (errno.ENOSPC, errno.EDQUOT) for lasts in (False, True)),
    Failure(FILES, FAIL, errno.EINTR),
    Failure(FILES, FAIL, errno.ENOMEM),
    Failure(Calls(of_sockets=frozenset(calls.THAT_WAIT), of_others=frozenset(calls.THAT_WAIT)), FAIL, errno.EINTR),
    # Without memory, any program may end, as after a kill.
    Failure(Calls(of_others=frozenset(calls.OF_MEMORY)), FAIL, errno.ENOMEM, may_end=True),
    Failure(Calls(of_files=frozenset(calls.THAT_READ_OR_WRITE_A_BUFFER)), SHORTEN, codes=UNAVAILABLE + FULL),
]


@dataclass
class Programs:
    kistd: Path
    tracer: Path


class Crash:
    def __init__(self, context, name):
        self.context, self.name, self.scenario = context, name, SCENARIOS[name]
        self.programs = Programs(context.kistd, context.compile(Path("tracer/tracer.c")))
        self.template = Template(self.scenario, context.kistd, context.folder / f"template {name}")
        self.numbers = itertools.count()

    def attempt(self, fault):
        attempt = Attempt(self.scenario, self.template, self.programs,
                          self.context.folder / f"{self.name} {next(self.numbers)}", fault)
        result = attempt.run()
        if result.broken:
            where = f"{self.name}, {fault.hit} {result.call}"
            kept = self.context.keep(attempt.folder, where.replace("/", "_")[:100])
            result.broken.args = (f"{where}: {result.broken}; kept in {kept}",)
        attempt.remove()
        return result

    def calls(self):
        """Returns the calls of a run without a fault."""
        result = self.attempt(Fault())
        if result.broken:
            raise result.broken
        return [event for event in result.events if not event.ends]

    def faults(self):
        """Returns every fault, in an order that depends on the seed."""
        made = self.calls()
        faults = [Fault(hit=Hit(action, at, at)) for at in range(1, len(made) + 1) for action in KILLS]
        for failure in FAILURES:
            for at in range(1, sum(map(failure.counted.has, made)) + 1):
                last = FOR_EVER if failure.lasts else at
                faults.append(Fault(failure.counted, Hit(failure.action, at, last, failure.error), failure.codes,
                                    failure.may_end))
        self.context.random("crash", self.name).shuffle(faults)
        return faults

    def row(self, seconds):
        row = Row(what=self.scenario.what)
        began = time.monotonic()
        # Listing the calls does not count towards the time.
        faults = self.faults()
        results = list(self.context.each(self.attempt, faults, time.monotonic() + seconds))
        hit = [result for result in results if result.hits]
        row.tries = len(hit)
        for result in results:
            if result.broken:
                getattr(row, result.broken.kind).append(str(result.broken))
        kills = sum(result.fault.hit.action in KILLS for result in hit)
        ended = sum(not result.survived for result in hit if result.fault.hit.action not in KILLS)
        row.note = f"{kills:,} kills, {len(hit) - kills:,} failures, after which kistd ended {ended:,} times"
        row.seconds = time.monotonic() - began
        return row


def run(context):
    names = [name for name in SCENARIOS if not (context.short and name in SLOW)]
    for number, name in enumerate(names):
        seconds = context.seconds if name in SLOW else float("inf")
        if context.short:
            left = context.began + context.seconds - time.monotonic()
            seconds = max(left / (len(names) - number), 0.5)
        yield Crash(context, name).row(seconds)
