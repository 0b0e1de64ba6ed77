"""Information about a running process from Linux (proc(5))."""

import os
import time


def pin(pid, cpus):
    """Pins all threads of a process, and their later threads, to some CPUs."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cpus)


def status(path):
    with open(path, encoding="utf-8") as rows:
        return dict(row.rstrip("\n").split(":\t", 1) for row in rows if ":\t" in row)


def resident(pid):
    """Returns the resident memory in MiB."""
    return int(status(f"/proc/{pid}/status")["VmRSS"].split()[0]) / 1024


def peak(pid):
    """Returns the peak resident memory since the start of the process, in MiB."""
    return int(status(f"/proc/{pid}/status")["VmHWM"].split()[0]) / 1024


def wake_ups(pid):
    """Returns how often each thread has gone to sleep so far."""
    return {thread: int(status(f"/proc/{pid}/task/{thread}/status")["voluntary_ctxt_switches"])
            for thread in os.listdir(f"/proc/{pid}/task")}


def wake_ups_since(pid, before):
    """Returns how often threads went to sleep since then, which equals the number of wake-ups.

    This excludes threads that have ended, and includes new ones.
    """
    return sum(count - before.get(thread, 0) for thread, count in wake_ups(pid).items())


def wait(what, is_there):
    """Waits until a process has created the file that shows that it is ready."""
    for _ in range(3000):
        if is_there():
            return
        time.sleep(0.01)
    raise SystemExit(f"{what} did not start")
