"""The raw measurements."""

import json
import os
import pathlib
import platform
import statistics
import subprocess
from collections import defaultdict
from dataclasses import asdict

from .programs import Sample


class Results:
    """Samples by name, a list of rounds for each way they were pinned, and single figures by name."""

    def __init__(self, about):
        self.about = about
        self.samples = {"pinned": defaultdict(list), "unpinned": defaultdict(list)}
        self.figures = {}

    def ratio(self, measured, beside, field, way="pinned"):
        """Returns the median of the rounds' ratios, as a slow round affects both sides of a ratio."""
        return statistics.median(
            getattr(ours, field) / getattr(theirs, field)
            for ours, theirs in zip(self.samples[way][measured], self.samples[way][beside], strict=True))

    def median(self, name, field="median", way="pinned"):
        return statistics.median(getattr(sample, field) for sample in self.samples[way][name])

    def spread(self, name):
        """Returns the spread of the rounds' medians, relative to their median."""
        medians = [sample.median for sample in self.samples["pinned"][name]]
        return (max(medians) - min(medians)) / statistics.median(medians)

    def write(self, path):
        path.write_text(json.dumps(
            {"about": self.about, "figures": self.figures, "samples": self.samples}, indent=1) + "\n",
            encoding="utf-8")

    @classmethod
    def read(cls, path):
        stored = json.loads(path.read_text(encoding="utf-8"))
        results = cls(stored["about"])
        results.figures = stored["figures"]
        for way, samples in stored["samples"].items():
            results.samples[way] = {name: [Sample(*sample) for sample in rounds]
                                    for name, rounds in samples.items()}
        return results


def about(folder, sizes, is_quick):
    """A description of the machine and the run."""
    return {
        "cpus": len(os.sched_getaffinity(0)), "processor": processor(),
        "system": f"{distribution()}, Linux {platform.release().split('-')[0]}",
        "file system": subprocess.run(["df", "--output=fstype", folder], check=True, text=True,
                                      capture_output=True).stdout.split()[-1],
        "quick": is_quick, "sizes": asdict(sizes),
    }


def processor():
    names = [row.split(":")[1].strip() for row in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if row.startswith("model name")]
    return names[0] if names else platform.machine()


def distribution():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"].split(" (")[0]
    except OSError:
        return "an unknown distribution"
