"""Derives the changes of the disk and the replies, in order, from the system calls of a kistd."""

import json
import os
from pathlib import PurePath

from faults.disk import Directory, File, Truncate, Write
from frame import calls
from frame.tracer import SOCKET, Calls

MAP_SHARED, PROT_WRITE = 1, 2

# The calls that change a file system: those that this module can replay, and those that it cannot.
FOLLOWED = calls.numbers(
    "openat close write writev pwrite64 ftruncate fsync fdatasync mkdir rename link unlink mmap")
STRANGE = calls.numbers(
    "open creat pwritev pwritev2 fallocate truncate symlink symlinkat linkat renameat renameat2 unlinkat mkdirat rmdir mknod "
    "mknodat copy_file_range sendfile splice sync_file_range io_uring_setup dup dup2 dup3 msync")
RECORDED = Calls(of_files=frozenset(FOLLOWED | STRANGE), of_sockets=frozenset(calls.numbers("write writev sendto sendmsg")))


class Unknown(Exception):
    """A change of the file system that this module cannot replay."""


class Replay:
    """Replays the calls of one kistd after another on a disk, which begins with an empty folder or with `root`."""

    def __init__(self, folder, root=None, ignoring_flushes=False):
        self.ignoring_flushes = ignoring_flushes
        self.folder = PurePath(folder)
        self.root = Directory() if root is None else root
        # The files and directories by their current inode number.
        self.nodes = {}
        self.positions = {}

    def steps(self, events):
        """Performs the events in order; yields "change", "flush", "failure" (of a flush), or "answered" with
        replies."""
        self.positions = {}
        begun = {}
        for event in events:
            if event.kind == SOCKET:
                if not event.ends:
                    yield "answered", [json.loads(line) for line in event.payload.splitlines()]
            elif event.call in STRANGE and self.is_ours(event):
                raise Unknown(str(event))
            elif not event.ends:
                # A flush does not include writes during the flush.
                begun[event.thread] = event, len(self.nodes.get(event.inode, ()))
            elif -4096 < event.result < 0:
                if event.hit and event.call in calls.FLUSHES and event.inode in self.nodes:
                    self.nodes[event.inode].fail(begun[event.thread][1])
                    yield "failure", []
            else:
                step = self.follow(event, *begun[event.thread])
                if step:
                    yield step, []

    def is_ours(self, event):
        return event.inode in self.nodes or any(self.folder in PurePath(path).parents for path in event.paths)

    def follow(self, event, beginning, pending):
        """Performs a successful call."""
        name, arguments = event.name, event.arguments
        if name == "mmap":
            if arguments[2] & PROT_WRITE and arguments[3] & MAP_SHARED and 0 <= arguments[4] < 1 << 31:
                raise Unknown(f"a file is mapped for writing: {event}")
            return None
        if name == "openat":
            return self.open(event, beginning.paths[0])
        if name in ("mkdir", "rename", "link", "unlink"):
            return self.change_names(name, beginning.paths)
        node = self.nodes.get(event.inode)
        if name == "close" or node is None and event.call in calls.FLUSHES:
            # The flush may be of a parent directory of the folder.
            return None
        if node is None:
            raise Unknown(str(event))
        if name in ("fsync", "fdatasync"):
            node.flush(0 if self.ignoring_flushes else pending)
            return "flush"
        if name == "ftruncate":
            node.change(Truncate(arguments[1]))
        else:
            data = beginning.payload[:event.result]
            if name == "pwrite64":
                offset = arguments[3]
            else:
                offset = self.positions.get(arguments[0], 0)
                self.positions[arguments[0]] = offset + len(data)
            node.change(Write(offset, data))
        return "change"

    def place(self, path):
        """Returns the directory of a path and the name in it; None outside of the folder."""
        path = PurePath(path)
        if self.folder not in path.parents:
            return None
        directory = self.root
        for part in path.relative_to(self.folder).parts[:-1]:
            directory = directory.now[part]
        return directory, path.name

    def open(self, event, path):
        self.positions.pop(event.result, None)
        flags = event.arguments[2]
        if PurePath(path) == self.folder:
            self.nodes[event.inode] = self.root
            return None
        place = self.place(path)
        if place is None:
            # Another file, such as /dev/urandom. A write to it raises Unknown.
            self.nodes.pop(event.inode, None)
            return None
        if flags & (os.O_TRUNC | os.O_APPEND) or flags & os.O_TMPFILE == os.O_TMPFILE:
            raise Unknown(str(event))
        directory, name = place
        is_new = name not in directory.now
        if is_new:
            directory.change({name: File()})
        self.nodes[event.inode] = directory.now[name]
        return "change" if is_new else None

    def change_names(self, call, paths):
        places = [self.place(path) for path in paths]
        if None in places:
            if any(places):
                raise Unknown(f"{call} {paths}")
            return None
        directory, name = places[0]
        if call == "mkdir":
            directory.change({name: Directory()})
        elif call == "unlink":
            # A socket, for example, which is not recorded.
            if name not in directory.now:
                return None
            directory.change({name: None})
        else:
            target, new = places[1]
            if target is not directory:
                raise Unknown(f"{call} {paths}")
            directory.change({new: directory.now[name]} | ({name: None} if call == "rename" else {}))
        return "change"
