"""The memory of another process, as root sees it in /proc (proc_pid_mem(5))."""

import os
from dataclasses import dataclass
from pathlib import Path

from scan.marks import PIECE, Found

STEP = 64 << 10
# Pieces overlap, so that no secret is split.
OVERLAP = 4096
# Regions of the kernel.
KERNELS = ("[vvar]", "[vvar_vclock]", "[vsyscall]")
# Most of a stack is unused.
NOTHING = bytes(STEP + OVERLAP)


@dataclass(frozen=True)
class Region:
    """One mapping of the address space."""
    start: int
    end: int
    permissions: str
    name: str

    def __str__(self):
        return f"{self.name or 'memory without a name'}, {self.permissions}, {(self.end - self.start) >> 10} KiB"


def regions(pid):
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        ends, permissions, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(each, 16) for each in ends.split("-"))
        # The kernel's own page is beyond the largest file offset.
        if end < 1 << 63:
            yield Region(start, end, permissions, name[0] if name else "")


def contents(pid):
    """Yields the content of each region, even if the process itself cannot read it, except unchanged parts of files."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        for region in regions(pid):
            if region.name.startswith("/") and "w" not in region.permissions or region.name in KERNELS:
                continue
            for start in range(region.start, region.end, STEP):
                try:
                    data = os.pread(memory, min(STEP + OVERLAP, region.end - start), start)
                except OSError:
                    if region in regions(pid):
                        raise
                    break  # The region has been unmapped.
                if data != NOTHING[:len(data)]:
                    yield region, data
    finally:
        os.close(memory)


@dataclass(frozen=True)
class Remains:
    """A piece of a secret left in memory."""
    region: Region
    found: Found

    def __str__(self):
        secret = self.found.secret
        of = f"of a secret of {len(secret):,} bytes, {secret[:12].decode()}…" if secret else "of no secret that is known"
        return f"{self.found.size} bytes {of}, {self.found.form}, in {self.region}"


def scan(pid, *all_marks):
    """Returns the pieces of secrets in a process, of at least PIECE bytes: a list for each of several marks."""
    remains = [[] for _ in all_marks]
    for region, data in contents(pid):
        for marks, each in zip(all_marks, remains):
            each += [Remains(region, found) for found in marks.find(data) if found.size >= PIECE]
    return remains


def regions_with(pid, needle):
    """Returns the regions that contain some bytes."""
    return {region for region, data in contents(pid) if needle in data}
