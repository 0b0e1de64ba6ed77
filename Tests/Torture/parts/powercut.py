"""Power cuts: the writes and flushes of kistd are recorded, and the disk is rebuilt as it may be after a cut at any moment."""

import errno
import hashlib
import itertools
import shutil
import time
from dataclasses import dataclass

from faults import disk
from faults.expectation import Broken, Expectation, check_after
from faults.life import Life, end, kill, long_life, short_life
from faults.scenarios import SCENARIOS, Template
from frame import calls
from frame.kistd import Kistd
from frame.row import Row
from frame.tracer import FAIL, FOR_EVER, Hit

# The most flushes that fail in a row: that of a save, and its repetitions.
LONGEST_FAILURE = 4


@dataclass
class Cut:
    """A disk after a power cut, and what it must contain."""
    when: str
    choice: str
    image: dict
    expectation: Expectation
    # The path of the key file.
    key: str


def cut(life: Life, when, choice, root, answered):
    return Cut(when, choice.name, disk.image(root, choice), life.expectation(answered), life.key)


def digest(image):
    summary = hashlib.blake2b(digest_size=16)
    for name, content in sorted(image.items()):
        inner = digest(content) if isinstance(content, dict) else hashlib.blake2b(content, digest_size=16).digest()
        summary.update(repr((name, inner)).encode())
    return summary.digest()


def choices(random):
    """Returns choices of the unflushed changes that are on the disk."""
    return (disk.NOTHING, disk.EVERYTHING, disk.NAMES_ONLY, disk.BYTES_ONLY, disk.prefix(random, 8), disk.some(random),
            disk.some(random))


def cuts(life: Life, random, is_chosen, when="step"):
    """Yields the distinct cuts after the chosen steps, with different choices."""
    seen = set()
    for number, (root, step, answered) in enumerate(life.replayed()):
        if not is_chosen(number, step):
            continue
        for choice in choices(random):
            one = cut(life, f"{when} {number}", choice, root, answered)
            mark = digest(one.image), len(answered)
            if mark not in seen:
                seen.add(mark)
                yield one


class PowerCuts:
    def __init__(self, context, row):
        self.context, self.row = context, row
        self.numbers = itertools.count()

    def check(self, cut):
        """Opens the image with a kistd; returns the broken promise, if any."""
        folder = self.context.folder / f"image {next(self.numbers)}"
        disk.lay_out(cut.image, folder)
        kistd = Kistd(self.context.kistd, folder, key=cut.key)
        try:
            check_after(kistd, cut.expectation)
            return None
        except Broken as broken:
            return Broken(broken.kind, f"cut after {cut.when}, {cut.choice} on the disk: {broken}")
        finally:
            kistd.kill()
            shutil.rmtree(folder)

    def check_all(self, cuts, until):
        for cut, broken in self.context.each(lambda cut: (cut, self.check(cut)), cuts, until):
            self.row.tries += 1
            if broken:
                getattr(self.row, broken.kind).append(f"{broken}; kept in {self.keep(cut)}")

    def keep(self, cut):
        folder = self.context.folder / "failed"
        disk.lay_out(cut.image, folder)
        kept = self.context.keep(folder, f"{cut.when}, {cut.choice}")
        shutil.rmtree(folder)
        return kept


def run(context):
    yield well(context)
    yield failing(context)


def until(context, share):
    """Returns when to end the attempts that begin now: in a short run after this share of its time, otherwise never."""
    return time.monotonic() + share * context.seconds if context.short else float("inf")


def well(context):
    """Cuts power on a disk that flushes reliably."""
    row = Row(what="power cuts, with unflushed changes dropped, kept, reordered or torn")
    began = time.monotonic()
    life = long_life(context, 24 if context.short else 120)
    kinds = [kind for _, kind, _ in life.replayed()]
    steps, random = set(range(len(kinds))), context.random("power cuts")
    if context.short:
        # Most steps write pages of large secrets. The interesting ones are next to a flush.
        near = {step + after for step in steps if kinds[step] == "flush" for after in (-1, 0)}
        steps = {*random.sample(sorted(near), len(near) // 4), *random.sample(sorted(steps), len(near) // 4)}
    power_cuts = PowerCuts(context, row)
    power_cuts.check_all(cuts(life, random, lambda number, _: number in steps), until(context, 2 / 3))
    check_that_it_sees(life, power_cuts, random)
    row.note = (f"{len(life.requests)} changes in {len(kinds):,} steps, "
                f"{kinds.count('flush')} of them flushes; cuts after {len(steps):,}")
    row.seconds = time.monotonic() - began
    return row


def check_that_it_sees(life, power_cuts, random):
    """Checks that this part finds the loss of acknowledged changes on a disk that ignores flushes."""
    for root, _, answered in life.replayed(ignoring_flushes=True):
        pass
    blind = [choice.name for choice in (disk.NOTHING, disk.BYTES_ONLY, *(disk.some(random) for _ in range(4)))
             if not power_cuts.check(cut(life, "all", choice, root, answered))]
    if blind:
        power_cuts.row.wrong.append(f"the loss on a disk that ignores flushes was not found: {', '.join(blind)}")


def failing(context):
    """Cuts power on a disk where a few flushes in a row fail and lose some or all of their data."""
    row = Row(what="power cuts after failed flushes that lost their data")
    began = time.monotonic()
    random = context.random("failing flushes")
    template = Template(SCENARIOS["insert"], context.kistd, context.folder / "template")
    numbers = itertools.count()

    def live(hit, finish):
        folder = context.folder / f"failing {next(numbers)}"
        template.copy(folder)
        return short_life(context, folder, hit, finish)

    flushes = [event.number for event in live(Hit(), end).runs[0] if event.call in calls.FLUSHES and not event.ends]
    failures = list(itertools.product(flushes, range(1, LONGEST_FAILURE + 1), (end, kill)))
    random.shuffle(failures)
    power_cuts = PowerCuts(context, row)
    end_of_tries = until(context, 1 / 3)
    for number, length, finish in failures:
        if row.tries and time.monotonic() > end_of_tries:
            break
        life = live(Hit(FAIL, number, FOR_EVER, errno.EIO, only=frozenset(calls.FLUSHES), most=length), finish)
        kinds = [kind for _, kind, _ in life.replayed()]
        if "failure" not in kinds:
            continue
        steps = list(range(kinds.index("failure"), len(kinds)))
        if context.short:
            # A loss of acknowledged changes shows between a flush and the next one.
            promised = [step for step in steps if kinds[step] in ("flush", "answered")]
            steps = random.sample(promised, min(len(promised), 4))
        when = f"flush {number} and {length - 1} more fail, {finish.__name__}, step"
        power_cuts.check_all(cuts(life, random, lambda number, _: number in steps, when), end_of_tries)
    row.note = (f"1 to {LONGEST_FAILURE} failures in a row from each of {len(flushes)} flushes of a start, six changes and "
                "an end or a kill; then another start")
    row.seconds = time.monotonic() - began
    return row
