"""A disk as it may be after a power cut: what was flushed is there, and of what was not, anything may be.

A file's flush makes its bytes durable, a directory's flush makes its names durable, and neither does the
other's work (fsync(2)).
"""

from dataclasses import dataclass, field

SECTOR = 512


@dataclass
class Write:
    offset: int
    data: bytes

    def sectors(self):
        """The write in pieces, none of which crosses the border of a sector."""
        place = 0
        while place < len(self.data):
            size = SECTOR - (self.offset + place) % SECTOR
            yield Write(self.offset + place, self.data[place:place + size])
            place += size

    def apply(self, content):
        if len(content) < self.offset:
            content.extend(bytes(self.offset - len(content)))
        content[self.offset:self.offset + len(self.data)] = self.data


@dataclass
class Truncate:
    size: int

    def apply(self, content):
        del content[self.size:]
        content.extend(bytes(self.size - len(content)))


@dataclass
class File:
    # What is there for good, and what was changed after it, in order: [change, whether it is there for good].
    durable: bytearray = field(default_factory=bytearray)
    changes: list = field(default_factory=list)
    # How many of them no flush will bring to the disk any more.
    doomed: int = 0

    def change(self, change):
        self.changes.append([change, False])

    def flush(self, count):
        """Makes durable what was changed first, but for what a flush has failed for."""
        for each in self.changes[self.doomed:count]:
            each[1] = True
        done = 0
        while done < len(self.changes) and self.changes[done][1]:
            self.changes[done][0].apply(self.durable)
            done += 1
        del self.changes[:done]
        self.doomed = max(0, self.doomed - done)

    def fail(self, count):
        """A flush has failed: what it was to bring to the disk may be there or not, and counts as done (fsync(2))."""
        self.doomed = count

    def __len__(self):
        return len(self.changes)


@dataclass
class Directory:
    durable: dict = field(default_factory=dict)
    # Names with what they stand for, or None, all of which come at once.
    pending: list = field(default_factory=list)
    now: dict = field(default_factory=dict)

    def __len__(self):
        return len(self.pending)

    def change(self, names):
        self.pending.append(names)
        apply_names(names, self.now)

    def flush(self, count):
        for names in self.pending[:count]:
            apply_names(names, self.durable)
        del self.pending[:count]

    def fail(self, count):
        """They are tried again by the next flush: what the journal cannot write ends the file system."""


def apply_names(names, directory):
    for name, node in names.items():
        if node is None:
            directory.pop(name, None)
        else:
            directory[name] = node


class Choice:
    """Which of the pending changes are on the disk."""

    def __init__(self, name, keep_write, keep_names):
        self.name = name
        # From a change to those pieces of it that are there, and from names to whether they are there.
        self.keep_write, self.keep_names = keep_write, keep_names


NOTHING = Choice("nothing that was not flushed", lambda change: [], lambda names: False)
EVERYTHING = Choice("everything", lambda change: [change], lambda names: True)
NAMES_ONLY = Choice("all names, no bytes that were not flushed", lambda change: [], lambda names: True)
BYTES_ONLY = Choice("all bytes, no names that were not flushed", lambda change: [change], lambda names: False)


def some(random):
    """Each change is there, is not there, or is torn."""
    def keep(change):
        kind = random.random()
        if kind < 0.4:
            return []
        if kind < 0.8 or isinstance(change, Truncate):
            return [change]
        return [sector for sector in change.sectors() if random.random() < 0.5]
    return Choice("some", keep, lambda names: random.random() < 0.5)


def prefix(random, length):
    """The changes of each file and directory in their order, up to one that is torn."""
    left = {"writes": random.randrange(length + 1), "names": random.randrange(length + 1)}

    def keep(change):
        left["writes"] -= 1
        if left["writes"] > 0:
            return [change]
        if left["writes"] < 0 or isinstance(change, Truncate):
            return []
        sectors = list(change.sectors())
        return sectors[:random.randrange(len(sectors) + 1)]

    def keep_names(names):
        left["names"] -= 1
        return left["names"] >= 0
    return Choice("the first ones", keep, keep_names)


def image(directory, choice):
    """What is found after the cut: names with bytes, or with the same of a directory."""
    names = dict(directory.durable)
    for change in directory.pending:
        if choice.keep_names(change):
            apply_names(change, names)
    return {name: image(node, choice) if isinstance(node, Directory) else content(node, choice)
            for name, node in names.items()}


def content(file, choice):
    content = bytearray(file.durable)
    for change, is_durable in file.changes:
        for piece in [change] if is_durable else choice.keep_write(change):
            piece.apply(content)
    return bytes(content)


def lay_out(image, folder):
    """Makes the files of an image, for this user alone."""
    folder.mkdir(mode=0o700)
    for name, content in image.items():
        if isinstance(content, dict):
            lay_out(content, folder / name)
        else:
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)


def taken_in(folder):
    """The disk as it is in a folder, all of it durable."""
    directory = Directory()
    for path in folder.iterdir():
        if path.is_dir():
            directory.now[path.name] = taken_in(path)
        elif path.is_file():
            directory.now[path.name] = File(bytearray(path.read_bytes()))
    directory.durable = dict(directory.now)
    return directory
