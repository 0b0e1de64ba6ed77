"""A kistd started by hand: all its threads must stay confined, but not its command."""

import os
import signal
import subprocess
import time
from pathlib import Path

from frame.kistd import Kistd
from frame.row import Row

CONFINED = {"NoNewPrivs": "1", "Seccomp": "2"}
FREE = {"NoNewPrivs": "0", "Seccomp": "0"}
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
