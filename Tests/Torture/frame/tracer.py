"""Runs kistd under tracer/tracer.c, which numbers its system calls and injects a fault at one of them."""

import ctypes
import errno
import mmap
import os
import signal
import struct
from dataclasses import dataclass
from pathlib import Path

from frame import calls

CALLS = 512
FOR_EVER = 0xFFFFFFFF
NO_DESCRIPTOR, FILE, SOCKET, OTHER, CREATING = 1, 2, 4, 8, 16
NONE, KILL_BEFORE, KILL_AFTER, FAIL, SHORTEN, FAIL_AFTER = range(6)
NOTHING, BUFFER, VECTOR, MESSAGE, PATH_1, PATH_2, PATHS_1_2, PATHS_2_4 = range(8)
PAYLOADS = {
    BUFFER: "write pwrite64 sendto", VECTOR: "writev pwritev", MESSAGE: "sendmsg",
    PATH_1: "open creat mkdir rmdir unlink chmod truncate stat lstat access readlink",
    PATH_2: "openat mkdirat unlinkat newfstatat statx faccessat faccessat2 readlinkat",
    PATHS_1_2: "rename link", PATHS_2_4: "renameat renameat2 linkat",
}
RECORD = struct.Struct("<IiiBBBx6qqQQ")


class Control(ctypes.Structure):
    """`struct control` of tracer/control.h."""
    _fields_ = [
        ("armed", ctypes.c_uint32), ("count", ctypes.c_uint32), ("first", ctypes.c_uint32), ("last", ctypes.c_uint32),
        ("action", ctypes.c_uint32), ("error", ctypes.c_int32), ("hits", ctypes.c_uint32), ("most", ctypes.c_uint32),
        ("pid", ctypes.c_int32), ("numbered", ctypes.c_uint8 * CALLS), ("hittable", ctypes.c_uint8 * CALLS),
        ("takes_descriptor", ctypes.c_uint8 * CALLS), ("payload", ctypes.c_uint8 * CALLS)]


@dataclass(frozen=True)
class Calls:
    """The calls to number: on files or paths, those that create a file, on sockets, or on anything else."""
    of_files: frozenset = frozenset()
    creating: frozenset = frozenset()
    of_sockets: frozenset = frozenset()
    of_others: frozenset = frozenset()

    def kinds(self, call):
        kinds = OTHER | NO_DESCRIPTOR if call in self.of_others else 0
        if call in self.of_files:
            kinds |= FILE if call in calls.OF_DESCRIPTORS else NO_DESCRIPTOR | CREATING
        if call in self.creating:
            kinds |= CREATING
        if call in self.of_sockets:
            kinds |= SOCKET if call in calls.OF_DESCRIPTORS else NO_DESCRIPTOR
        return kinds

    def has(self, event):
        return bool(self.kinds(event.call) & event.kind)


ALL = Calls(*[frozenset(range(CALLS))] * 4)


@dataclass(frozen=True)
class Hit:
    """The fault for the calls from one number to another: only for some calls, and at most for a number of them."""
    action: int = NONE
    first: int = 1
    last: int = 1
    error: int = 0
    only: frozenset = frozenset(range(CALLS))
    most: int = FOR_EVER

    def __str__(self):
        what = {KILL_BEFORE: "killed before", KILL_AFTER: "killed after", SHORTEN: "only half done at",
                FAIL: f"{errno.errorcode.get(self.error)} from",
                FAIL_AFTER: f"{errno.errorcode.get(self.error)} after the effect of", NONE: "nothing at"}[self.action]
        return f"{what} call {self.first}" + (" on" if self.last > self.first else "")


@dataclass
class Event:
    """The start or the end of a numbered call."""
    number: int
    thread: int
    call: int
    ends: bool
    hit: bool
    kind: int
    arguments: tuple
    result: int
    inode: int
    payload: bytes

    @property
    def name(self):
        return calls.NAMES.get(self.call, str(self.call))

    @property
    def paths(self):
        return [os.fsdecode(path) for path in self.payload.split(b"\0")[:-1]]

    def __str__(self):
        detail = " ".join(self.paths) if self.payload.endswith(b"\0") and len(self.payload) < 4096 else ""
        return f"{self.name}({', '.join(hex(each & (1 << 64) - 1) for each in self.arguments[:4])}) {detail}".rstrip()


class Tracer:
    def __init__(self, program, folder, counted=ALL, hit=Hit(), from_hardening=False):
        self.control_file, self.log = Path(folder) / "control", Path(folder) / "calls"
        with open(self.control_file, "wb+") as file:
            file.truncate(ctypes.sizeof(Control))
            self.memory = mmap.mmap(file.fileno(), ctypes.sizeof(Control))
        self.control = Control.from_buffer(self.memory)
        self.under = [program, self.control_file, self.log]
        for call in range(CALLS):
            self.control.numbered[call] = counted.kinds(call)
            self.control.hittable[call] = call in hit.only
            self.control.takes_descriptor[call] = call in calls.OF_DESCRIPTORS
        for payload, names in PAYLOADS.items():
            for call in calls.numbers(names):
                self.control.payload[call] = payload
        self.control.action, self.control.error = hit.action, hit.error
        self.control.first, self.control.last, self.control.most = hit.first, hit.last, hit.most
        self.control.armed = 2 if from_hardening else 0

    def arm(self):
        self.control.armed = 1

    def disarm(self):
        """Stops injecting faults; returns the number of affected calls."""
        self.control.armed = 0
        return self.control.hits

    def kill(self):
        """Kills the traced process, after which the tracer ends."""
        if self.control.pid:
            try:
                os.kill(self.control.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def events(self):
        """Yields the recorded events, once the tracer has ended."""
        log = self.log.read_bytes()
        place = 0
        while place < len(log):
            number, thread, call, ends, hit, kind, *rest = RECORD.unpack_from(log, place)
            place += RECORD.size
            *arguments, result, inode, size = rest
            yield Event(number, thread, call, bool(ends), bool(hit), kind, tuple(arguments), result, inode,
                        log[place:place + size])
            place += size
