"""A kistd started by hand: all its threads must stay confined, but not its command; code in kistd must not reach out."""

import ctypes
import errno
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from frame.kistd import Kistd
from frame.row import Row

CONFINED = {"NoNewPrivs": "1", "Seccomp": "2"}
FREE = {"NoNewPrivs": "0", "Seccomp": "0"}
# The calls that hostile/inside.c tries, and their errors.
REFUSED = {f"file:{name}": errno.EACCES for name in ("read", "write", "create", "mkdir", "symlink", "unlink", "passwd")} | {
    f"call:{name}": errno.EPERM for name in (
        "socket", "mmap", "prlimit", "ptrace", "unshare", "io_uring_setup", "add_key", "fork", "execve")} | {
    f"scope:{name}": errno.EPERM for name in ("signal", "abstract")}
# The version of Landlock from which on each kind of call is refused (landlock(7)); seccomp refuses the others.
LANDLOCK_FROM = {"file": 1, "scope": 6}
LANDLOCK_CREATE_RULESET, RULESET_VERSION = 444, 1
READING = ("sh", "-c", "cat /proc/self/status")


def run(context):
    row, began = Row(what="threads of a kistd started by hand"), time.monotonic()
    kistd = Kistd(context.kistd, context.folder / "serving")
    kistd.start().close()
    try:
        for _ in range(20 if context.short else 200):
            work(kistd)
            for thread in threads(kistd.process.pid):
                row.tries += 1
                if thread != CONFINED:
                    row.wrong.append(f"a thread of kistd has {thread}")
    finally:
        kistd.stop()
    row.seconds = time.monotonic() - began
    yield row
    yield command(context)
    yield inside(context)


def work(kistd):
    """Makes kistd start threads: for the writer, for the log, and for a storage that it opens again."""
    with kistd.connect() as connection:
        connection.ask(op="save", service="s", account="a", secret="x")
        connection.ask(op="load", service="s", account="a")
        os.kill(kistd.process.pid, signal.SIGHUP)
        if not connection.ask(op="load", service="s", account="a")["ok"]:
            raise RuntimeError("a confined kistd cannot open its storage again")


def threads(pid):
    """Yields the confinement of each thread, as the kernel reports it."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            yield state((task / "status").read_text())
        except (FileNotFoundError, ProcessLookupError):
            pass  # It has ended.


def state(text):
    lines = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return {name: lines[name] for name in CONFINED}


def command(context):
    row, began = Row(what="a command run by kistd"), time.monotonic()
    for number in range(3 if context.short else 20):
        folder = context.folder / f"command-{number}"
        kistd = Kistd(context.kistd, folder)
        result = subprocess.run([*kistd.command, "--", *READING], env=kistd.environment, check=True, capture_output=True)
        row.tries += 1
        if state(result.stdout.decode()) != FREE:
            row.wrong.append(f"a command run by kistd has {state(result.stdout.decode())}")
    row.seconds = time.monotonic() - began
    return row


def inside(context):
    """Runs code in a confined kistd, as after an attack on its input."""
    row, began = Row(what="calls of code inside of a kistd"), time.monotonic()
    library, outside = context.compile("hostile/inside.c", "-shared", "-fPIC"), context.folder / "outside"
    outside.mkdir()
    listener, name = socket.socket(socket.AF_UNIX), f"kist-torture-{os.getpid()}"
    listener.bind("\0" + name)
    listener.listen()
    # The second start is one after a first save.
    for start in range(2):
        (outside / "file").write_text("precious")
        report = context.folder / "taken" / "data" / "report"
        kistd = Kistd(context.kistd, context.folder / "taken", "--log-level", "debug",
                      LD_PRELOAD=str(library), OUTSIDE=str(outside), REPORT=str(report), ABSTRACT=name)
        with kistd.start() as connection:
            connection.ask(op="save", service="s", account="a", secret="x")
        kistd.stop()
        check_report(row, report, kistd.said())
        report.unlink(missing_ok=True)
    listener.close()
    if [file.name for file in outside.iterdir()] != ["file"] or (outside / "file").read_text() != "precious":
        row.got_in.append(f"code in kistd changed {list(outside.iterdir())}")
    row.seconds = time.monotonic() - began
    return row


def check_report(row, report, said):
    landlock = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), RULESET_VERSION)
    if f"confined calls=seccomp files={'Landlock' if landlock > 0 else ''}" not in said:
        row.wrong.append(f"kistd does not log that it is confined: {said[-500:]}")
    if landlock < max(LANDLOCK_FROM.values()):
        row.note = "this kernel has no Landlock" if landlock <= 0 else f"this kernel has only version {landlock} of Landlock"
        if os.environ.get("CI") and landlock <= 0:
            row.wrong.append(row.note)
    results = dict(line.split() for line in report.read_text().splitlines())
    for call, expected in REFUSED.items():
        if landlock < LANDLOCK_FROM.get(call.split(":")[0], 0):
            continue
        row.tries += 1
        if results.get(call) != str(expected):
            row.got_in.append(f"{call} in kistd ended with {results.get(call)}, not {errno.errorcode[expected]}")
