"""What Linux tells of a running process (proc(5))."""

import os
import time


def pin(pid, cpus):
    """Puts all threads of a process on these CPUs; threads that they make later follow."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cpus)


def status(path):
    with open(path, encoding="utf-8") as rows:
        return dict(row.rstrip("\n").split(":\t", 1) for row in rows if ":\t" in row)


def resident(pid):
    """Resident memory, in MiB."""
    return int(status(f"/proc/{pid}/status")["VmRSS"].split()[0]) / 1024


def peak(pid):
    """The most memory that was resident at once since the process began, in MiB."""
    return int(status(f"/proc/{pid}/status")["VmHWM"].split()[0]) / 1024


def wake_ups(pid):
    """How often each thread has gone to sleep so far."""
    return {thread: int(status(f"/proc/{pid}/task/{thread}/status")["voluntary_ctxt_switches"])
            for thread in os.listdir(f"/proc/{pid}/task")}


def wake_ups_since(pid, before):
    """How often any thread went to sleep since then, which it can do once for each time it woke up.

    Of a thread that has ended nothing is known any more, and of a new one all counts.
    """
    return sum(count - before.get(thread, 0) for thread, count in wake_ups(pid).items())


def wait(what, is_there):
    """Waits until a process that was started has made what says that it is ready."""
    for _ in range(3000):
        if is_there():
            return
        time.sleep(0.01)
    raise SystemExit(f"{what} did not start")
