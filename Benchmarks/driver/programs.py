"""The measuring and measured programs: those of kist, the C programs in Sources, and the peers' own."""

import os
import pathlib
import shutil
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Benchmarks" / "Sources"
LIBRARIES = {"libsecret": "libsecret-1", "git-credential-libsecret": "libsecret-1", "sqlite": "sqlite3",
             "least_provider": "libsystemd", "least_follower": "libsodium"}
# git contains the source of its keyring helper, but Debian has no compiled program.
GIT_HELPER = pathlib.Path(
    "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c")


class Sample(NamedTuple):
    """The result of a measuring program: two times in seconds, and a rate."""
    median: float
    tail: float
    per_second: float


def build_kist():
    """Makes release builds of kistd and kist; returns their folder."""
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
    for source in SOURCES.glob("**/*.c"):
        compile_program(compiler, source, folder, "-Wall", "-Wextra", "-Werror")
    if GIT_HELPER.exists():
        compile_program(compiler, GIT_HELPER, folder)


def compile_program(compiler, source, folder, *options):
    flags = []
    if library := LIBRARIES.get(source.stem):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", library], check=True,
                               capture_output=True, text=True).stdout.split()
    subprocess.run([compiler, "-std=gnu11", "-O2", "-pthread", *options, str(source),
                    "-o", str(folder / source.stem), *flags], check=True)


def measure(command, lines=b"", cpus=None, environment=None):
    """Runs a measuring program on some CPUs, with lines on its standard input."""
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    result = subprocess.run([str(word) for word in command], input=lines, stdout=subprocess.PIPE,
                            env=environment, preexec_fn=pin, check=True)
    median, tail, per_second = result.stdout.split()
    return Sample(int(median) / 1e9, int(tail) / 1e9, float(per_second))
