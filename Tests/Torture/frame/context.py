"""What a part is given."""

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
    binaries: Path  # Where kistd and kist are.
    folder: Path  # Empty, the part's own; removed afterwards.
    kept: Path  # What failed is copied to here.
    seconds: float  # How long a part without an end of its own goes on; in a short run, each part.
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
        """A source of its own for each purpose, so that the order of work does not change what is tried."""
        return random.Random(repr((self.seed, *purpose)))

    def keep(self, path, name):
        """Copies what failed to where it stays; gives the place."""
        kept = self.kept / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(path, kept, ignore=lambda folder, names: [
            name for name in names if (Path(folder) / name).is_socket()])
        return kept

    def compile(self, source, *options):
        """Compiles a C program of the folder of the parts; gives the program."""
        source = TORTURE / source
        program = self.folder / source.stem
        subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, *options],
                       check=True)
        return program

    def each(self, work, items, until=float("inf"), least=10):
        """Does the work for one item after another, some at once, and yields the results in their order; begins
        none after `until`, a time of `time.monotonic`, but so many at the least."""
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
