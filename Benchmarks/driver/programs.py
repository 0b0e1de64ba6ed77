"""What is measured and what measures it: kist's programs and the C programs of Sources."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Benchmarks" / "Sources"


def build_kist():
    """Builds kistd and kist as they are released, and gives the folder that they are in."""
    subprocess.run(["make", "release"], cwd=ROOT, check=True)
    return ROOT / ".build-release" / "bin"


def build_yardsticks(folder):
    """Compiles the C programs into a folder.

    With the C compiler and not by a Swift package: that links the Swift libraries to every program,
    which makes an empty one start four times as slowly and so would flatter kist.
    """
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise SystemExit("there is no C compiler: install gcc, or name one in CC")
    libsecret = subprocess.run(["pkg-config", "--cflags", "--libs", "libsecret-1"], check=True,
                               capture_output=True, text=True).stdout.split()
    for source in SOURCES.glob("**/*.c"):
        subprocess.run([compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", str(source),
                        "-o", str(folder / source.stem),
                        *(libsecret if source.parent.name == "keyring" else [])], check=True)


def measure(command, lines=b"", cpus=None, environment=None):
    """Runs a measuring program on these CPUs and gives its median and 99th percentile, in seconds."""
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    result = subprocess.run([str(word) for word in command], input=lines, stdout=subprocess.PIPE,
                            env=environment, preexec_fn=pin, check=True)
    median, tail = result.stdout.split()
    return int(median) / 1e9, int(tail) / 1e9
