"""Power cuts: what kistd writes and flushes is recorded, and the disk rebuilt as it may be after a cut at any moment."""

import hashlib
import itertools
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from faults import disk
from faults.expectation import Broken, Expectation, check_after
from faults.recording import RECORDED, Replay
from faults.scenarios import LARGE, delete, save
from frame.kistd import Kistd
from frame.row import Row
from frame.tracer import Tracer

CLIENTS = 4


def script(random, client, changes):
    """What one client asks for, on accounts of its own."""
    for number in range(changes):
        account = f"{client}-{random.randrange(6)}"
        if random.random() < 0.2:
            yield delete(account)
        else:
            yield save(account, f"{number} " * random.choice([1, 10, 200, 3000]))


class Recording:
    """A life of a store: what was asked, and the calls of each kistd that served it."""

    def __init__(self, context, changes):
        self.kistd_program, self.tracer_program = context.kistd, context.compile(Path("tracer/tracer.c"))
        self.folder = context.folder / "recorded"
        self.logs = context.folder
        self.random = context.random("recording")
        self.requests = {}
        # Of each client, the numbers of its requests in their order.
        self.order = {client: [] for client in range(CLIENTS + 1)}
        self.folder.mkdir(mode=0o700)
        changes //= 3
        self.runs = [
            self.run("first", lambda kistd: self.serve(kistd, changes), ends=False),
            self.run("after a kill", lambda kistd: (self.serve(kistd, changes), self.fill_log(kistd)), ends=True),
            self.run("after an end", lambda kistd: self.serve(kistd, changes), ends=True)]

    def run(self, name, work, ends):
        logs = self.logs / f"calls {name}"
        logs.mkdir()
        tracer = Tracer(self.tracer_program, logs, RECORDED, from_hardening=True)
        kistd = Kistd(self.kistd_program, self.folder, under=tracer.under)
        kistd.start().close()
        work(kistd)
        if ends:
            kistd.process.terminate()
        else:
            tracer.kill()
        kistd.wait()
        return list(tracer.events())

    def serve(self, kistd, changes):
        """Each client sends its next request when the one before is answered; all clients at once."""
        waiting = {client: list(script(self.random, client, changes // CLIENTS)) for client in range(CLIENTS)}
        connections = {client: kistd.connect() for client in waiting}
        while waiting := {client: requests for client, requests in waiting.items() if requests}:
            for client, requests in waiting.items():
                self.send(connections[client], client, requests.pop(0))
            for client in waiting:
                connections[client].receive()
        for connection in connections.values():
            connection.close()

    def fill_log(self, kistd):
        """As much as makes SQLite bring the log into the database, and begin it anew."""
        with kistd.connect() as connection:
            for number in range(10):
                self.send(connection, CLIENTS, save("large", f"{number} {LARGE}"))
                connection.receive()

    def send(self, connection, client, request):
        number = len(self.requests) + 1
        self.requests[number] = request
        self.order[client].append(number)
        connection.send(id=number, **request)


@dataclass
class Cut:
    """A disk after a power cut, and what must be on it."""
    step: int
    choice: str
    image: dict
    expectation: Expectation


def digest(image):
    summary = hashlib.blake2b(digest_size=16)
    for name, content in sorted(image.items()):
        inner = digest(content) if isinstance(content, dict) else hashlib.blake2b(content, digest_size=16).digest()
        summary.update(repr((name, inner)).encode())
    return summary.digest()


def expectation(recording, answered):
    """What was answered is there; of each client, the request after it may be."""
    expected = Expectation({})
    for numbers in recording.order.values():
        for number in numbers:
            reply = answered.get(number)
            expected.asked(recording.requests[number], reply)
            if reply is None:
                break
    return expected


def replayed(recording, ignoring_flushes=False):
    """Yields the disk after each step, with the step, and what was answered by then."""
    replay = Replay(recording.folder, ignoring_flushes)
    answered = {}
    for step, replies in itertools.chain.from_iterable(map(replay.steps, recording.runs)):
        answered.update((reply["id"], reply) for reply in replies if "id" in reply)
        yield replay.root, step, answered


def cuts(recording, random, steps):
    """The cuts after these steps, with different choices of what had reached the disk. No two are the same."""
    seen = set()
    for number, (root, _, answered) in enumerate(replayed(recording)):
        if number not in steps:
            continue
        for choice in (disk.NOTHING, disk.EVERYTHING, disk.NAMES_ONLY, disk.BYTES_ONLY,
                       disk.prefix(random, 8), disk.some(random), disk.some(random)):
            image = disk.image(root, choice)
            mark = digest(image), len(answered)
            if mark not in seen:
                seen.add(mark)
                yield Cut(number, choice.name, image, expectation(recording, answered))


class PowerCuts:
    def __init__(self, context):
        self.context = context
        self.numbers = itertools.count()

    def check(self, cut):
        """Opens the image with a kistd; gives what was broken."""
        folder = self.context.folder / f"image {next(self.numbers)}"
        disk.lay_out(cut.image, folder)
        kistd = Kistd(self.context.kistd, folder)
        try:
            check_after(kistd, cut.expectation)
            return None
        except Broken as broken:
            return Broken(broken.kind, f"cut after step {cut.step}, {cut.choice} on the disk: {broken}")
        finally:
            kistd.kill()
            shutil.rmtree(folder)

    def keep(self, cut):
        folder = self.context.folder / "failed"
        disk.lay_out(cut.image, folder)
        kept = self.context.keep(folder, f"step {cut.step}, {cut.choice}")
        shutil.rmtree(folder)
        return kept


def run(context):
    row = Row(what="power cuts, with what was not flushed dropped, kept, reordered or torn")
    began = time.monotonic()
    recording = Recording(context, 24 if context.short else 120)
    kinds = [kind for _, kind, _ in replayed(recording)]
    power_cuts, random = PowerCuts(context), context.random("power cuts")
    steps = set(range(len(kinds)))
    if context.short:
        # Most of the steps write the pages of large secrets; what matters is around the flushes.
        near = {step + after for step in steps if kinds[step] == "flush" for after in (-1, 0)}
        steps = {*random.sample(sorted(near), len(near) // 2), *random.sample(sorted(steps), len(near) // 2)}
    until = context.began + context.seconds if context.short else float("inf")
    for cut, broken in context.each(lambda cut: (cut, power_cuts.check(cut)), cuts(recording, random, steps), until):
        row.tries += 1
        if broken:
            getattr(row, broken.kind).append(f"{broken}; kept in {power_cuts.keep(cut)}")
    row.note = (f"{len(recording.requests)} changes in {len(kinds):,} steps, "
                f"{kinds.count('flush')} of them flushes; cuts after {len(steps):,}")
    check_that_it_sees(recording, power_cuts, random, row)
    row.seconds = time.monotonic() - began
    yield row


def check_that_it_sees(recording, power_cuts, random, row):
    """A disk that ignores flushes loses what was answered, and this must say so."""
    for root, _, answered in replayed(recording, ignoring_flushes=True):
        pass
    choices = [disk.NOTHING, disk.BYTES_ONLY, *(disk.some(random) for _ in range(4))]
    blind = [choice.name for choice in choices if not power_cuts.check(
        Cut(0, choice.name, disk.image(root, choice), expectation(recording, answered)))]
    if blind:
        row.wrong.append(f"the loss on a disk that ignores flushes was not seen: {', '.join(blind)}")
