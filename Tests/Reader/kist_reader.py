#!/usr/bin/python3
"""Reads kist's encrypted credential store, version 1 (docs/file-format.md), and its audit log
(docs/audit.md)."""

import argparse
import base64
import io
import json
import os
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt as aead_decrypt
from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id

APPLICATION_ID, VERSION = 0x6B697374, 1
SCHEMA = {
    "credential": "CREATE TABLE credential (address INTEGER PRIMARY KEY, service_tag BLOB NOT NULL, "
    "key_tag BLOB NOT NULL, sequence INTEGER NOT NULL, metadata BLOB NOT NULL, "
    "secret BLOB NOT NULL) STRICT",
    "slot": "CREATE TABLE slot (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT",
    "store": "CREATE TABLE store (id BLOB NOT NULL, header BLOB NOT NULL) STRICT",
}
SLOT, HEADER, METADATA, SECRET, NAMES, CHAIN, PROGRESS = 1, 2, 3, 4, 5, 6, 7
KEY_FILE, PASSPHRASE = 1, 2
LABEL, EXPIRY, FIELDS, SECRET_FIELDS = 1, 2, 4, 8
MOST_FIELDS = 32768
TIMES = range(-62167219200, 253402300799 + 1)
LONGEST_ROW, LONGEST_SECRET, LAST_SEQUENCE = 640 << 10, 512 << 10, (1 << 63) - 1


def require(right: bool, otherwise: str) -> None:
    """Raises an error with a message for the user, unless a condition holds."""
    if not right:
        raise ValueError(otherwise)


@contextmanager
def within(place: str) -> Iterator[None]:
    """Puts a place in front of the messages of errors."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def u32(n: int) -> bytes:
    """The number in 4 bytes."""
    return n.to_bytes(4, "little")


def u64(n: int) -> bytes:
    """The number in 8 bytes."""
    return n.to_bytes(8, "little")


def number(value: bytes) -> int:
    """The unsigned number that the bytes are."""
    return int.from_bytes(value, "little")


def text(s: str) -> bytes:
    """The string in UTF-8, after its size."""
    return u32(len(s.encode())) + s.encode()


def subkey(identifier: int, context: bytes, key: bytes) -> bytes:
    """The result of crypto_kdf_derive_from_key."""
    salt, person = u64(identifier) + bytes(8), context + bytes(8)
    return blake2b(b"", digest_size=32, key=key, salt=salt, person=person).digest()


def subkeys(master: bytes) -> list[bytes]:
    """The tagKey, metadataKey, secretKey, headerKey, sumKey, nameKey, auditKey and progressKey."""
    return [subkey(identifier, b"kiststor", master) for identifier in range(1, 9)]


def prefix(part: int, store_id: bytes) -> bytes:
    """The beginning of the associated data."""
    return b"kist" + u32(VERSION) + u32(part) + store_id


def unseal(key: bytes, ad: bytes, sealed: bytes) -> bytes:
    """The message of `seal(key, ad, message)`."""
    require(len(sealed) >= 40, "it is too short")
    try:
        return aead_decrypt(sealed[24:], ad, sealed[:24], key)
    except CryptoError:
        raise ValueError("it does not open") from None


def padded_size(n: int) -> int:
    """The size to which n bytes, the size field included, are padded."""
    if n <= 1024:
        return max(64, -(-n // 64) * 64)
    e = n.bit_length() - 1
    m = (1 << (e - e.bit_length())) - 1
    return n + m & ~m


def unpadded(padded: bytes) -> bytes:
    """The message of `padded(message)`."""
    size = number(padded[-4:])
    require(padded_size(size + 4) == len(padded), "the padding has a wrong size")
    require(not any(padded[size:-4]), "the padding is not of zeros")
    return padded[:size]


def parse_fields(area: bytes) -> dict[int, bytes]:
    """The value of each field, by its tag."""
    require(0 < len(area) <= MOST_FIELDS, "there are no fields, or too many bytes of them")
    fields, last = {}, 0
    while area:
        tag, size = number(area[:4]), number(area[4:8])
        require(len(area) >= 8 + size, "a field ends too early")
        require(tag > last, "the fields are not in the order of their tags, or one occurs twice")
        fields[tag], area, last = area[8:8 + size], area[8 + size:], tag
    return fields


def split_secret(message: bytes) -> tuple[bytes, dict[int, bytes]]:
    """The secret, and the fields after it if the flags announce them."""
    end = len(message) - 4
    start = end - number(message[-4:])
    require(0 <= start <= end, "the fields are longer than what is sealed")
    return message[:start], parse_fields(message[start:end])


def has_control(value: str) -> bool:
    """Whether there is a control character: C0, DEL or C1."""
    return any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in value)


def check_limits(service: str, account: str, label: str, attributes: list[tuple[str, str]]) -> None:
    """Refuses content that no save can produce."""
    require(service != "", "the service is empty")
    for name, value in (("service", service), ("account", account), ("label", label)):
        require(len(value.encode()) <= 1024, f"the {name} has more than 1024 bytes")
        require(not has_control(value), f"the {name} has a control character")
    for name, _ in attributes:
        require(1 <= len(name.encode()) <= 256, "an attribute's name does not have 1 to 256 bytes")
        require(not has_control(name), "an attribute's name has a control character")
    sizes = [len(value.encode()) for _, value in attributes]
    require(max(sizes, default=0) <= 1024, "an attribute's value has more than 1024 bytes")
    require(sum(sizes) + sum(len(name.encode()) for name, _ in attributes) <= 16 << 10,
            "the attributes have more than 16 KiB together")


def parse_metadata(message: bytes) -> dict:
    """The content of the metadata."""
    rest = io.BytesIO(message)

    def field(size: int) -> bytes:
        value = rest.read(size)
        require(len(value) == size, "it ends too early")
        return value

    def string() -> str:
        return field(number(field(4))).decode()

    flags, created, modified, expires = struct.unpack("<Iqqq", field(28))
    service, account, label = string(), string(), string()
    count = number(field(4))
    require(count <= 64, "there are more than 64 attributes")
    attributes = [(string(), string()) for _ in range(count)]
    area = rest.read()
    require(flags < 16, "a flag is unknown")
    require(flags & FIELDS or not area, "something follows its end")
    require(flags & LABEL or not label, "there is a label without its flag")
    require(flags & EXPIRY or not expires, "there is an expiry without its flag")
    require(all(time in TIMES for time in (created, modified, expires)), "a time is out of range")
    require(all(a.encode() < b.encode() for (a, _), (b, _) in pairwise(attributes)),
            "the attributes are not sorted, or one occurs twice")
    check_limits(service, account, label, attributes)
    return {
        "service": service, "account": account, "label": label if flags & LABEL else None,
        "attributes": dict(attributes), "createdAt": created, "modifiedAt": modified,
        "expiresAt": expires if flags & EXPIRY else None,
        "fields": parse_fields(area) if flags & FIELDS else {},
        "hasSecretFields": bool(flags & SECRET_FIELDS),
    }


def open_names(name_key: bytes, store_id: bytes, line: bytes) -> dict:
    """A line of the audit log, with the service and the account that it names."""
    record = json.loads(line)
    if "names" not in record:
        return record
    bound = line[:line.rindex(b',"names":"')]
    names = record.pop("names")
    require(line[len(bound):].startswith(f',"names":"{names}"'.encode()), "names are not where they were sealed")
    sealed = base64.b64decode(names, validate=True)
    rest = io.BytesIO(unpadded(unseal(name_key, prefix(NAMES, store_id) + bound, sealed)))
    flags = number(rest.read(4))
    require(0 < flags < 4, "nothing is named, or a flag is unknown")
    for bit, name in enumerate(("service", "account")):
        value = rest.read(number(rest.read(4))).decode()
        if flags >> bit & 1:
            record[name] = value
        require(flags >> bit & 1 or not value, f"there is a {name} without its flag")
    require(not rest.read(), "something follows its end")
    return record


def chain_hash(audit_key: bytes, store_id: bytes, use: int, message: bytes) -> bytes:
    """The hash of the audit log's chain: use is 1 for unchained lines, 2 for a block, 3 for the mark."""
    return blake2b(prefix(CHAIN, store_id) + bytes([use]) + message, digest_size=16, key=audit_key).digest()


def chain_part(line: bytes) -> bytes:
    """The part of a line that the chain covers, if it is not the last of its block."""
    names = json.loads(line).get("names")
    return b"\0" + line + b"\n" if names is None else b"\1" + base64.b64decode(names, validate=True)[-16:]


def verify_chain(keys: list[bytes], store_id: bytes, log: bytes) -> int:
    """Checks the chain of one file of the audit log; returns the number of its last line."""
    name_key, audit_key = keys[6], keys[7]
    lines, first, chain, last = log.split(b"\n")[:-1], 0, None, None
    for index, line in enumerate(lines):
        if not line.startswith(b"{") or b',"chain":"' not in line:
            continue
        with within(f"line {index + 1}"):
            link = json.loads(line)
            covered = line[:line.rindex(b',"chain":"')]
            require(line == covered + f',"chain":"{link["chain"]}"}}'.encode(), "the chain is not its last member")
            section, unchained = lines[first:index + 1], link.get("unchained", 0)
            before = base64.b64decode(link["after"], validate=True) if "after" in link else chain
            require(before is not None, "lines before it are missing")
            require(unchained < len(section), "it covers more lines than there are")
            require(last is None or "after" in link or link["number"] == last + len(section),
                    "lines before it are missing, or were added")
            found, value = b"".join(each + b"\n" for each in section[:unchained]), before
            for start in range(0, len(found), 1 << 16):
                value = chain_hash(audit_key, store_id, 1, value + found[start:start + (1 << 16)])
            for each in section[unchained:]:
                open_names(name_key, store_id, each)
            parts = b"".join(map(chain_part, section[unchained:-1]))
            value = chain_hash(audit_key, store_id, 2, value + parts + covered)
            require(value == base64.b64decode(link["chain"], validate=True),
                    "it, or a line before it, is not as it was written")
            require(not link.get("foreign"), "lines before it were added by another program")
            first, chain, last = index + 1, value, link["number"]
    require(last is not None, "the audit log has no chain")
    return last


def read_progress(progress_key: bytes, store_id: bytes, file: bytes) -> dict:
    """The number and the time of the last change in the progress note."""
    require(len(file) == 80 and file[:8] == b"kistmark", "it does not follow the format")
    require(file[8:24] == store_id, "it is of another store")
    message = unseal(progress_key, prefix(PROGRESS, store_id), file[24:])
    sequence, time = struct.unpack("<Qq", message)
    return {"sequence": sequence, "time": timestamp(time)}


def check_slot(store_id: bytes, slot: int, body: bytes) -> None:
    """Refuses a slot with a wrong size, checksum or limit. Unknown kinds of slots are allowed."""
    require(slot in range(1 << 32), "its number is out of range")
    require(isinstance(body, bytes) and 20 <= len(body) <= 4096, "it has not 20 to 4096 bytes")
    checksum = blake2b(store_id + u32(slot) + body[:-16], digest_size=16).digest()
    require(body[-16:] == checksum, "its checksum is wrong")
    kind = number(body[:4])
    if kind not in (KEY_FILE, PASSPHRASE):
        return
    require(len(body) == 116, "it has not 116 bytes")
    passes, memory = struct.unpack("<II", body[4:12])
    if kind == KEY_FILE:
        require(not any(body[4:28]), "it is for a key file, and has passes, memory or a salt")
    else:
        require(1 <= passes <= 16 and 8 <= memory <= 1 << 20, "its passes or memory are refused")


def check_total_cost(slots: list[tuple]) -> None:
    """Refuses slots whose total cost is too high."""
    costs = [number(body[4:8]) * number(body[8:12]) for _, body in slots
             if body[:4] == u32(PASSPHRASE)]
    require(len(costs) <= 8 and sum(costs) <= 16 << 20,
            "damaged slots: those of passphrases are too many, or cost too much together")


def wrapping_key(body: bytes, credential: bytes) -> bytes:
    """The key that seals the master key, derived from the key file or passphrase."""
    kind, passes, memory, salt = struct.unpack("<III16s", body[:28])
    if kind == KEY_FILE:
        return subkey(1, b"kistslot", credential)
    return argon2id.kdf(32, credential, salt, opslimit=passes, memlimit=1024 * memory)


def open_slot(store_id: bytes, slot: int, body: bytes, credential: bytes) -> bytes:
    """The master key."""
    ad = prefix(SLOT, store_id) + u32(slot) + body[:28]
    return unseal(wrapping_key(body, credential), ad, body[28:100])


def open_slots(store_id: bytes, slots: list[tuple], kind: int, credential: bytes) -> bytes:
    """The master key, from the first slot of the kind that opens, after a check of all slots."""
    require(1 <= len(slots) <= 64, "damaged slots: there is none, or there are more than 64")
    for slot, body in slots:
        with within(f"damaged slot {slot}"):
            check_slot(store_id, slot, body)
    check_total_cost(slots)
    for slot, body in slots:
        if body[:4] == u32(kind):
            with suppress(ValueError):
                return open_slot(store_id, slot, body, credential)
    raise ValueError("wrong key: it opens no slot, and the slots are intact")


def slots_hash(slots: list[tuple]) -> bytes:
    """The hash of the slots, which come in the order of their numbers."""
    return blake2b(b"".join(u32(slot) + body for slot, body in slots), digest_size=32).digest()


def open_header(header_key: bytes, store_id: bytes, header: bytes) -> tuple:
    """The sequence, count, epoch, sum and hash of the slots."""
    message = unseal(header_key, prefix(HEADER, store_id), header)
    require(len(message) == 88, "its message has not 88 bytes")
    sequence, count, *rest = struct.unpack("<QQQ32s32s", message)
    require(count <= sequence <= LAST_SEQUENCE, "its sequence or its count is out of range")
    return sequence, count, *rest


def tags(tag_key: bytes, service: str, account: str) -> tuple[bytes, bytes]:
    """The service_tag and the key_tag."""
    messages = text(service), text(service) + text(account)
    return tuple(blake2b(each, digest_size=16, key=tag_key).digest() for each in messages)


def addresses(service_tag: bytes, key_tag: bytes) -> range:
    """The addresses that the row of these tags may have."""
    first = int.from_bytes(service_tag[:3] + key_tag[:4], "big") * 64
    return range(first, first + 64)


def row_hash(sum_key: bytes, row: tuple) -> bytes:
    """The hash of a row."""
    _, service_tag, key_tag, sequence, metadata, secret = row
    message = service_tag + key_tag + u64(sequence) + metadata[-16:] + secret[-16:]
    return blake2b(message, digest_size=32, key=sum_key).digest()


def rows_sum(sum_key: bytes, rows: list[tuple]) -> bytes:
    """The sum of the hashes of the rows."""
    total = sum(number(row_hash(sum_key, row)) for row in rows)
    return (total % (1 << 256)).to_bytes(32, "little")


def open_row(keys: list[bytes], store_id: bytes, row: tuple) -> dict:
    """The metadata of a row, and its secret."""
    require([type(column) for column in row] == [int, bytes, bytes, int, bytes, bytes], "wrong types")
    address, service_tag, key_tag, sequence, metadata, secret = row
    require(len(service_tag) == len(key_tag) == 16, "a tag has not 16 bytes")
    require(address in addresses(service_tag, key_tag), "it is at an address of other tags")
    require(sequence >= 1, "its sequence is less than 1")
    place = service_tag + key_tag + u64(sequence)
    with within("metadata"):
        message = unpadded(unseal(keys[1], prefix(METADATA, store_id) + place, metadata))
        opened = parse_metadata(message)
    with within("secret"):
        message = unpadded(unseal(keys[2], prefix(SECRET, store_id) + place, secret))
        opened["secret"], opened["secretFields"] = (
            split_secret(message) if opened.pop("hasSecretFields") else (message, {}))
        require(len(opened["secret"]) <= LONGEST_SECRET, "it has more than 512 KiB")
    right_tags = tags(keys[0], opened["service"], opened["account"])
    require((service_tag, key_tag) == right_tags, "it has not the tags of its service and account")
    return opened


def revision(epoch: int, sequence: int) -> str:
    """The revision in the form of the protocol."""
    digits = ""
    while epoch or not digits:
        epoch, digit = divmod(epoch, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{digits}.{sequence}"


def timestamp(seconds: int) -> str:
    """The time as YYYY-MM-DDTHH:MM:SSZ, including the year 0000, which datetime does not support."""
    shift = 400 if seconds < 0 else 0
    time = datetime(1970 + shift, 1, 1) + timedelta(seconds=seconds)
    return f"{time.year - shift:04}-{time:%m-%dT%H:%M:%SZ}"


def json_line(credential: dict) -> str:
    """The credential as it is printed."""
    shown = {name: value for name, value in credential.items() if value is not None}
    for name in {"createdAt", "modifiedAt", "expiresAt"} & shown.keys():
        shown[name] = timestamp(shown[name])
    for name in ("fields", "secretFields"):
        fields = shown.pop(name)
        if fields:
            shown[name] = {str(tag): value.hex() for tag, value in fields.items()}
    shown["secretBase64"] = base64.b64encode(shown.pop("secret")).decode()
    return json.dumps(shown, ensure_ascii=False)


def check_database(database: sqlite3.Connection) -> None:
    """Refuses another application_id, version or schema."""
    application_id, = database.execute("PRAGMA application_id").fetchone()
    require(application_id == APPLICATION_ID, "not a store of kist: wrong application_id")
    version, = database.execute("PRAGMA user_version").fetchone()
    require(version == VERSION, f"wrong version: the store has {version}, this reads {VERSION}")
    try:
        schema = set(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
    except (sqlite3.Error, UnicodeDecodeError):
        raise ValueError("schema: it is damaged and cannot be read") from None
    right = {("table", name, name, sql) for name, sql in SCHEMA.items()}
    require(schema == right, f"schema: it is not that of version {VERSION}")


def read_store(database: sqlite3.Connection, kind: int, credential: bytes) -> tuple[bytes, bytes, list]:
    """The master key, the store id and the credentials, read in one transaction, when every check passes."""
    database.execute("BEGIN")
    check_database(database)
    stores = database.execute("SELECT id, header FROM store").fetchall()
    require(len(stores) == 1, "header: there is not one row in store")
    (store_id, header), = stores
    require(isinstance(store_id, bytes) and len(store_id) == 16 and isinstance(header, bytes),
            "header: the store id has not 16 bytes, or a type is wrong")
    slots = database.execute("SELECT number, body FROM slot ORDER BY number").fetchall()
    master = open_slots(store_id, slots, kind, credential)
    keys = subkeys(master)
    with within("header"):
        last, count, epoch, total, slots_then = open_header(keys[3], store_id, header)
        require(slots_then == slots_hash(slots), "it has not the hash of the slots")
    # Not sorted, as a lookup relies on the order in the table.
    rows = database.execute("SELECT * FROM credential").fetchall()
    credentials = []
    for index, row in enumerate(rows):
        with within(f"row {index}"):
            opened = open_row(keys, store_id, row)
            require(row[3] <= last, "its sequence is greater than the header's")
        credentials.append(opened | {"revision": revision(epoch, row[3])})
    require(all(row[0] < after[0] for row, after in pairwise(rows)),
            "order: the rows are not in the order of their addresses")
    for name, column in (("tags", slice(1, 3)), ("sequence", slice(3, 4))):
        require(len({row[column] for row in rows}) == len(rows), f"rows: two of them have the same {name}")
    require(len(rows) == count, f"sum: there are {len(rows)} rows, and should be {count}")
    require(rows_sum(keys[4], rows) == total, "sum: the rows are not those that were written")
    credentials.sort(key=lambda each: (each["service"], each["account"]))
    return master, store_id, credentials


def read_credential(arguments: argparse.Namespace) -> tuple[int, bytes]:
    """The kind of slot to open, and the bytes that open it."""
    if arguments.key_file is None:
        with os.fdopen(arguments.passphrase_fd, "rb") as file:
            return PASSPHRASE, file.read()
    with open(arguments.key_file, "rb") as file:
        key = file.read(33)
    require(len(key) == 32, "wrong key: the key file has not exactly 32 bytes")
    return KEY_FILE, key


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", metavar="STORE", help="the database: credentials.db, or a copy")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--key-file", metavar="FILE", help="open the store with this key file")
    way.add_argument("--passphrase-fd", metavar="FD", type=int, help="open the store with the"
                     " passphrase on this file descriptor: all bytes to its end, newlines too")
    parser.add_argument("--keys", action="store_true", help="print only the master key and its"
                        " subkeys, in hexadecimal, for a test that looks for them in the memory of"
                        " a process")
    parser.add_argument("--audit", metavar="FILE", type=Path, help="print the lines of this audit"
                        " log instead, with their names opened")
    parser.add_argument("--progress", metavar="FILE", type=Path, help="print the content of this"
                        " progress file instead")
    parser.add_argument("--verify", action="store_true", help="with --audit: check the chain of the lines before")
    return parser.parse_args()


def refuse(message: str) -> NoReturn:
    """Prints one line with the reason for the failure on stderr, and exits."""
    sys.exit("kist_reader: " + "".join(c if c.isprintable() else "?" for c in message))


def main() -> None:
    """Prints the credentials or the keys, or an error on stderr."""
    arguments = parse_arguments()
    try:
        kind, credential = read_credential(arguments)
        uri = Path(arguments.store).absolute().as_uri() + "?mode=ro"
        database = sqlite3.connect(uri, uri=True, isolation_level=None)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_ROW)
        master, store_id, credentials = read_store(database, kind, credential)
        keys = [master, *subkeys(master)]
        if arguments.audit:
            if arguments.verify:
                verify_chain(keys, store_id, arguments.audit.read_bytes())
            lines = [json.dumps(open_names(keys[6], store_id, line), ensure_ascii=False)
                     for line in arguments.audit.read_bytes().splitlines()]
        elif arguments.progress:
            with within("the progress file"):
                lines = [json.dumps(read_progress(keys[8], store_id, arguments.progress.read_bytes()))]
        elif arguments.keys:
            lines = [key.hex() for key in keys]
        else:
            lines = [json_line(credential) for credential in credentials]
    except sqlite3.Error as error:
        refuse(f"the database cannot be read: {error}")
    except (CryptoError, MemoryError):
        refuse("there is not enough memory")
    except (ValueError, OSError) as error:
        refuse(str(error))
    sys.stdout.reconfigure(encoding="utf-8")
    for line in lines:
        print(line)


if __name__ == "__main__":
    main()
