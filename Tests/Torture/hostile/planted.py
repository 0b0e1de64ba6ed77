"""Files planted in a store by an attacker without the key: small on the disk, but they claim to be large."""

import os
import re
import sqlite3
from contextlib import closing

from frame.kistd import Kistd

COLUMNS = ("service_tag", "key_tag", "metadata", "secret")
# Bytes; by default, SQLite refuses more than 1,000,000,000.
CLAIMED = 900 << 20
HOLE = 3 << 30
# The allowed memory for a load, and the allowed disk space for a log.
MOST_MEMORY, MOST_DISK = 64 << 20, 1 << 20
PAGE = 4096


def varint(value):
    """Encodes an integer for SQLite: seven bits in each byte, the most significant first."""
    if value >> 56:
        return bytes(value >> shift & 0x7F | 0x80 for shift in range(57, 7, -7)) + bytes([value & 0xFF])
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([group | 0x80 for group in groups[:0:-1]] + groups[:1])


def endless_cell(row, column, circle):
    """Returns a row with a column that claims many bytes, which continue on an overflow page that links to itself."""
    address, *values = row
    names = ("service_tag", "key_tag", "sequence", "metadata", "secret")
    types, content, size = b"\0", b"", 0
    for name, value in zip(names, values):
        if name == "sequence":
            types, content, size = types + b"\1", content + bytes([value]), size + 1
            continue
        length = CLAIMED if name == column else len(value)
        types, content, size = types + varint(12 + 2 * length), content + value, size + length
    content = bytes([len(types) + 1]) + types + content
    size += len(types) + 1
    least = (PAGE - 12) * 32 // 255 - 23
    local = least + (size - least) % (PAGE - 4)
    if local > PAGE - 35:
        local = least
    return varint(size) + varint(address) + content[:local].ljust(local, b"\0") + circle.to_bytes(4, "big")


def plant_endless_row(path, column):
    """Replaces the only row by an endless one."""
    with closing(sqlite3.connect(path)) as database:
        row = database.execute("SELECT * FROM credential").fetchone()
        page, = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'credential'").fetchone()
    circle = path.stat().st_size // PAGE + 1
    cell = endless_cell(row, column, circle)
    pages = 2 * CLAIMED // PAGE
    with open(path, "r+b") as file:
        file.seek((page - 1) * PAGE)
        start = (PAGE - len(cell)).to_bytes(2, "big")
        file.write((b"\x0d\0\0\0\1" + start + b"\0" + start).ljust(PAGE - len(cell), b"\0") + cell)
        file.seek((circle - 1) * PAGE)
        file.write(circle.to_bytes(4, "big"))
        file.seek(28)
        file.write(pages.to_bytes(4, "big"))
        file.truncate(pages * PAGE)


def most_memory(pid):
    """Returns the peak memory of a process so far, in bytes."""
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) << 10


def try_endless_rows(context, row):
    """Checks that a load of a row with a false length needs little memory."""
    for column in COLUMNS:
        kistd = Kistd(context.kistd, context.folder / f"endless-{column}")
        with kistd.start() as connection:
            connection.ask(op="save", service="service", secret="secret")
        kistd.stop()
        plant_endless_row(kistd.data / "credentials.db", column)
        with kistd.start() as connection:
            row.tries += 1
            before = most_memory(kistd.process.pid)
            reply = connection.ask(op="load", service="service")
            taken = most_memory(kistd.process.pid) - before
            if reply.get("error", {}).get("code") != "corrupt":
                row.wrong.append(f"a {column} of {CLAIMED} bytes received {reply}")
            if taken > MOST_MEMORY:
                row.wrong.append(f"a load of a {column} of {CLAIMED} bytes took {taken} bytes of memory")
        kistd.kill()


def try_hollow_log(context, row):
    """Checks that a start with a log that is a hole does not write it."""
    kistd = Kistd(context.kistd, context.folder / "hollow")
    kistd.start().close()
    kistd.stop()
    log = kistd.data / "credentials.db-wal"
    log.touch(0o600)
    os.truncate(log, HOLE)
    with kistd.start() as connection:
        row.tries += 1
        taken = log.stat().st_blocks * 512
        if taken > MOST_DISK:
            row.wrong.append(f"a log that is a hole of {HOLE} bytes takes {taken} bytes of the disk after a start")
        if not connection.ask(op="save", service="service", secret="secret").get("ok"):
            row.wrong.append("a save with a log that is a hole failed")
    kistd.stop()
