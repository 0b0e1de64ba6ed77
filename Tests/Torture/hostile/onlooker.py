"""Another program of the same user, which inspects a process: `python3 -m hostile.onlooker UID PID`, as root.

It prints an object: each way to inspect the process, and whether it worked.
"""

import ctypes
import json
import os
import sys

from hostile.stranger import become

LIBC = ctypes.CDLL(None, use_errno=True)
PIDFD_OPEN, PIDFD_GETFD = 434, 438
ATTACH, SEIZE = 16, 0x4206
FILES = ("mem", "maps", "smaps", "pagemap", "environ", "auxv", "io", "personality", "syscall", "task/{pid}/mem")
LINKS = ("cwd", "root", "exe")
FOLDERS = ("fd", "fdinfo", "map_files")


def file(path):
    with open(path, "rb") as opened:
        # There is no memory at address 0.
        return path.endswith("mem") or opened.read(1) is not None


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def read_memory(pid):
    """Reads memory at an address. EFAULT, for an unmapped address, is not a refusal."""
    buffer = ctypes.create_string_buffer(8)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    there = (ctypes.c_void_p * 2)(0x1000, 8)
    if LIBC.process_vm_readv(pid, here, 1, there, 1, 0) < 0 and ctypes.get_errno() != 14:
        raise OSError(ctypes.get_errno(), "")


def take_descriptor(pid):
    call(LIBC.syscall(PIDFD_GETFD, call(LIBC.syscall(PIDFD_OPEN, pid, 0)), 0, 0))


def ways(pid):
    for name in FILES:
        yield name, lambda name=name: file(f"/proc/{pid}/{name.format(pid=pid)}")
    for name in LINKS:
        yield name, lambda name=name: os.readlink(f"/proc/{pid}/{name}")
    for name in FOLDERS:
        yield name, lambda name=name: os.listdir(f"/proc/{pid}/{name}")
    yield "process_vm_readv", lambda: read_memory(pid)
    yield "pidfd_getfd", lambda: take_descriptor(pid)
    yield "PTRACE_SEIZE", lambda: call(LIBC.ptrace(SEIZE, pid, None, None))
    yield "PTRACE_ATTACH", lambda: call(LIBC.ptrace(ATTACH, pid, None, None))


def is_open(way):
    """Returns whether a way works, tried in its own process."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    try:
        way()
        os._exit(0)
    except OSError:
        os._exit(1)


def main():
    uid, pid = map(int, sys.argv[1:])
    become(uid)
    print(json.dumps({name: is_open(way) for name, way in ways(pid)}))


if __name__ == "__main__":
    main()
