"""The input of a part."""

import random
import shutil
import subprocess
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TORTURE = Path(__file__).resolve().parent.parent


@dataclass
class Context:
    binaries: Path  # The directory of kistd and kist.
    folder: Path  # An empty folder for the part; removed afterwards.
    kept: Path  # The folder for copies of failed attempts.
    seconds: float  # The duration of a part without an end of its own; in a short run, of each part.
    short: bool
    seed: int
    jobs: int
    began: float = field(default_factory=time.monotonic)

    @property
    def kistd(self):
        return self.binaries / "kistd"

    @property
    def kist(self):
        return self.binaries / "kist"

    def random(self, *purpose):
        """Returns a separate source for each purpose, so that the order of work does not change the attempts."""
        return random.Random(repr((self.seed, *purpose)))

    def keep(self, path, name):
        """Copies a failed attempt to `kept`; returns the path of the copy."""
        kept = self.kept / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(path, kept, ignore=lambda folder, names: [
            name for name in names if (Path(folder) / name).is_socket()])
        return kept

    def compile(self, source, *options):
        """Compiles a C program of this directory; returns the path of the program."""
        source = TORTURE / source
        program = self.folder / source.stem
        subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, *options],
                       check=True)
        return program

    def each(self, work, items, until=float("inf"), least=10):
        """Does the work for each item, some at once, and yields the results in order.

        Starts no work after `until`, a time of `time.monotonic`, except for the first `least` items."""
        under_way = deque()
        with ThreadPoolExecutor(self.jobs) as pool:
            for number, item in enumerate(items):
                if number >= least and time.monotonic() > until:
                    break
                under_way.append(pool.submit(work, item))
                if len(under_way) > 4 * self.jobs:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
