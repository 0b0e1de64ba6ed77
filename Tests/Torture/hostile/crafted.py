"""Stores whose author has the key, and encrypts content that no save would produce (docs/file-format.md)."""

import os
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt as aead_encrypt

from frame.context import TORTURE
from frame.kistd import Ended, Kistd
from parts.texts import ask

sys.path.append(str(TORTURE.parent / "Reader"))
import kist_reader as reader  # noqa: E402

KEY, PASSPHRASE = bytes(range(32)), b"of the author"
CORRUPT = 10
MOMENT = 1795168800
SERVICE = "crafted.example"
ESCAPE = "\x1b]0;title\x07\nhint: forged"
# What is wrong with a row.
ROWS = {
    "control characters in the service": {"service": f"b{ESCAPE}"},
    "control characters in the account": {"account": ESCAPE},
    "control characters in the label": {"label": ESCAPE},
    "control characters in the name of an attribute": {"attributes": [(ESCAPE, "")]},
    "an empty service": {"service": ""},
    "a service of 1,025 bytes": {"service": "b" * 1025},
    "a service of bad UTF-8": {"service": b"b\xff\xfe"},
    "a label of bad UTF-8": {"label": b"\xc0\xaf"},
    "an attribute with half a surrogate pair": {"attributes": [(b"\xed\xa0\x80", "")]},
    "65 attributes": {"attributes": [(f"{number:05}", "") for number in range(65)]},
    "5,000 attributes": {"attributes": [(f"{number:05}", "") for number in range(5000)]},
    "2^32 - 1 attributes": {"attributes": [("a", "b")], "count": 2**32 - 1},
    "an attribute that is stored twice": {"attributes": [("a", "1"), ("a", "2")]},
    "attributes in another order": {"attributes": [("b", "1"), ("a", "2")]},
    "attributes of 17 KiB": {"attributes": [(f"{number:05}", "v" * 1024) for number in range(17)]},
    "a time near 2^63": {"created": 2**62},
    "a secret over the limit": {"secret": b"x" * (reader.LONGEST_SECRET + 1)},
    "the tags of another credential": {"tagged": ("good.example", "")},
    "the sequence 0": {"sequence": 0},
    "the sequence 2^64 - 1": {"sequence": 2**64 - 1},
}
# What is wrong with the header.
HEADERS = {
    "the sequence 2^63 in the header": {"sequence": 2**63},
    "the sequence 2^64 - 1 in the header": {"sequence": 2**64 - 1},
    "the sequence 0 in the header": {"sequence": 0},
    "2^64 - 1 credentials in the header": {"count": 2**64 - 1},
}


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return reader.u32(len(value)) + value


class Store:
    """The content of a store that its key file opens."""

    def __init__(self):
        self.master, self.id, self.rows = os.urandom(32), os.urandom(16), []
        self.tags, self.metadata, self.secrets, self.header, self.sum, *_ = reader.subkeys(self.master)
        # The cheapest passphrase slot that kistd accepts.
        self.slots = [self.slot(1, KEY, reader.KEY_FILE, 0, 0), self.slot(2, PASSPHRASE, reader.PASSPHRASE, 1, 8)]

    def slot(self, number, credential, *kind):
        start = struct.pack("<III16s", *kind, bytes(16))
        body = start + self.seal(reader.wrapping_key(start, credential), reader.SLOT, reader.u32(number) + start, self.master)
        return number, body + reader.blake2b(self.id + reader.u32(number) + body, digest_size=16).digest()

    def seal(self, key, part, bound, message):
        nonce = os.urandom(24)
        return nonce + aead_encrypt(message, reader.prefix(part, self.id) + bound, nonce, key)

    @staticmethod
    def padded(message):
        return message + bytes(reader.padded_size(len(message) + 4) - len(message) - 4) + reader.u32(len(message))

    def add(self, service=SERVICE, account="", label=None, attributes=(), count=None, created=MOMENT, secret=b"x",
            tagged=None, sequence=None):
        sequence = len(self.rows) + 1 if sequence is None else sequence
        message = struct.pack("<Iqqq", label is not None, created, MOMENT, 0) + b"".join(map(text, (service, account, label or "")))
        message += reader.u32(len(attributes) if count is None else count)
        message += b"".join(text(name) + text(value) for name, value in attributes)
        of_service, of_account = map(text, tagged or (service, account))
        tags = [reader.blake2b(each, digest_size=16, key=self.tags).digest() for each in (of_service, of_service + of_account)]
        place = b"".join(tags) + reader.u64(sequence)
        address = next(each for each in reader.addresses(*tags) if all(each != row[0] for row in self.rows))
        self.rows.append((address, *tags, sequence - 2**64 if sequence >= 2**63 else sequence,
                          self.seal(self.metadata, reader.METADATA, place, self.padded(message)),
                          self.seal(self.secrets, reader.SECRET, place, self.padded(secret))))

    def total(self):
        """Returns the sum of the hashes of all rows."""
        hashes = [reader.blake2b(tag + key + reader.u64(sequence % 2**64) + metadata[-16:] + secret[-16:],
                                 digest_size=32, key=self.sum).digest()
                  for _, tag, key, sequence, metadata, secret in self.rows]
        return (sum(int.from_bytes(each, "little") for each in hashes) % 2**256).to_bytes(32, "little")

    def write(self, path, sequence=None, count=None):
        header = struct.pack("<QQQ32s32s", len(self.rows) if sequence is None else sequence,
                             len(self.rows) if count is None else count, 1, self.total(), reader.slots_hash(self.slots))
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA application_id = {reader.APPLICATION_ID};"
                                   f"PRAGMA user_version = {reader.VERSION}; {';'.join(reader.SCHEMA.values())}")
            database.executemany("INSERT INTO slot VALUES (?, ?)", self.slots)
            database.executemany("INSERT INTO credential VALUES (?, ?, ?, ?, ?, ?)", self.rows)
            database.execute("INSERT INTO store VALUES (?, ?)", (self.id, self.seal(self.header, reader.HEADER, b"", header)))
        path.chmod(0o600)


def try_crafted(context, row):
    """Checks that kistd accepts no crafted content, from a backup or from a store."""
    # Otherwise, the refusals would prove nothing.
    intact = restore(context, "intact", {}, {})[1]
    if intact != 0:
        raise RuntimeError(f"kistd cannot restore a store of the test: status {intact}")
    cases = list((ROWS | HEADERS).items())
    for name, wrong in context.random("crafted").sample(cases, 8) if context.short else cases:
        row.tries += 1
        of_row, of_header = (wrong, {}) if name in ROWS else ({}, wrong)
        folder, status = restore(context, f"crafted-{row.tries}", of_row, of_header)
        if status != CORRUPT or (folder / "restored" / "credentials.db").exists():
            row.got_in.append(f"kistd restore of a backup with {name} ended with {status}")
        serve(context, row, folder, name, of_row)


def restore(context, name, of_row, of_header):
    """Writes a store and restores it as a backup; returns the folder and the status of kistd."""
    folder = context.folder / name
    folder.mkdir(mode=0o700)
    (folder / "data").mkdir(mode=0o700)
    (folder / "key").write_bytes(KEY)
    (folder / "key").chmod(0o600)
    store = Store()
    store.add("good.example", secret=b"good")
    store.add(**of_row)
    store.write(folder / "data" / "credentials.db", **of_header)
    end = subprocess.run(
        [context.kistd, "restore", folder / "data" / "credentials.db", "--data", folder / "restored"],
        env={"HOME": str(folder), "PATH": os.environ["PATH"]}, input=PASSPHRASE + b"\n", capture_output=True, timeout=60)
    return folder, end.returncode


def serve(context, row, folder, name, of_row):
    """Starts kistd with the store, and loads and lists what is in it."""
    kistd = Kistd(context.kistd, folder)
    try:
        connection = kistd.start()
    except Ended:
        if (status := kistd.wait()) != CORRUPT:
            row.wrong.append(f"a start with {name} ended with {status}: {kistd.said()[-300:]}")
        return
    with connection:
        good = connection.ask(op="load", service="good.example")
        if good.get("credential", {"secret": "good"})["secret"] != "good" or not good["ok"] and good["error"]["code"] != "corrupt":
            row.got_in.append(f"a store with {name} answers {good} for another credential")
        if connection.ask(op="load", service=SERVICE)["ok"]:
            row.got_in.append(f"kistd loads a credential with {name}")
        found = connection.ask(op="find")
        # A list does not read secrets.
        if found["ok"] and "secret" not in of_row:
            row.got_in.append(f"kistd lists a credential with {name}: {str(found)[:300]}")
    for command in ("list", "list --json"):
        ask(row, context, command, kistd.socket, name)
    if (status := kistd.stop()) != 0:
        row.wrong.append(f"kistd with {name} ended with {status}: {kistd.said()[-300:]}")
