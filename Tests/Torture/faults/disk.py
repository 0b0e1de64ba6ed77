"""A disk as it may be after a power cut: with all flushed changes, and any of the unflushed ones.

The flush of a file makes its bytes durable, and the flush of a directory its names. Neither replaces the
other (fsync(2)).
"""

from dataclasses import dataclass, field

SECTOR = 512


@dataclass
class Write:
    offset: int
    data: bytes

    def sectors(self):
        """Yields the write in pieces that do not cross the border of a sector."""
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
    # The durable content, and the later changes in order: [change, whether it is durable].
    durable: bytearray = field(default_factory=bytearray)
    changes: list = field(default_factory=list)
    # The number of changes that no later flush will write.
    doomed: int = 0

    def change(self, change):
        self.changes.append([change, False])

    def flush(self, count):
        """Makes the first `count` changes durable, except those whose flush has failed."""
        for each in self.changes[self.doomed:count]:
            each[1] = True
        done = 0
        while done < len(self.changes) and self.changes[done][1]:
            self.changes[done][0].apply(self.durable)
            done += 1
        del self.changes[:done]
        self.doomed = max(0, self.doomed - done)

    def fail(self, count):
        """Records a failed flush: its changes may be on the disk or not, and count as written (fsync(2))."""
        self.doomed = count

    def __len__(self):
        return len(self.changes)


@dataclass
class Directory:
    durable: dict = field(default_factory=dict)
    # Names with their files, or None for a removal. Each dictionary is applied at once.
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
        """Does nothing: the next flush tries again, as the file system stops if it cannot write its journal."""


def apply_names(names, directory):
    for name, node in names.items():
        if node is None:
            directory.pop(name, None)
        else:
            directory[name] = node


class Choice:
    """A choice of the pending changes that are on the disk."""

    def __init__(self, name, keep_write, keep_names):
        self.name = name
        # `keep_write` returns the pieces of a change that are on the disk, `keep_names` whether names are.
        self.keep_write, self.keep_names = keep_write, keep_names


NOTHING = Choice("nothing unflushed", lambda change: [], lambda names: False)
EVERYTHING = Choice("everything", lambda change: [change], lambda names: True)
NAMES_ONLY = Choice("all names, no unflushed bytes", lambda change: [], lambda names: True)
BYTES_ONLY = Choice("all bytes, no unflushed names", lambda change: [change], lambda names: False)


def some(random):
    """Keeps, drops or tears each change at random."""
    def keep(change):
        kind = random.random()
        if kind < 0.4:
            return []
        if kind < 0.8 or isinstance(change, Truncate):
            return [change]
        return [sector for sector in change.sectors() if random.random() < 0.5]
    return Choice("some", keep, lambda names: random.random() < 0.5)


def prefix(random, length):
    """Keeps the changes of each file and directory in order, up to a torn one."""
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
    """Returns the content after the cut: names with bytes, or with the content of a directory."""
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
    """Creates the files of an image, private to this user."""
    folder.mkdir(mode=0o700)
    for name, content in image.items():
        if isinstance(content, dict):
            lay_out(content, folder / name)
        else:
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)


def taken_in(folder):
    """Returns the content of a folder as a disk on which everything is durable."""
    directory = Directory()
    for path in folder.iterdir():
        if path.is_dir():
            directory.now[path.name] = taken_in(path)
        elif path.is_file():
            directory.now[path.name] = File(bytearray(path.read_bytes()))
    directory.durable = dict(directory.now)
    return directory
