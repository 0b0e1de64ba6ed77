#!/usr/bin/python3
"""Creates the vectors of docs/file-format.md, and prints them: make_vectors.py > vectors.json.

What the reader can compute is computed by its functions, and the rest here; nothing is taken from kistd.
"""

import json
import struct
import sys
from pathlib import Path

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt as aead_encrypt

sys.path.insert(0, str(Path(__file__).parent))
import kist_reader as reader  # noqa: E402

MASTER, STORE_ID = bytes(range(0x00, 0x20)), bytes(range(0x60, 0x70))
TAGS, METADATA, SECRETS, HEADER, SUM, *_ = reader.subkeys(MASTER)
EPOCH = 0x0123456789ABCDEF
KEYS = [("github.com", "alice"), ("github.com", ""), ("a", "bc"), ("ab", "c"), ("é", "👩‍👩‍👧‍👦"),
        # Two keys with the same addresses.
        ("github.com", "52443"), ("github.com", "81268")]
SIZES = [0, 1, 4, 63, 64, 65, 1023, 1024, 1025, 1088, 1089, 2048, 2049, 4097, 65537, 524292]
ROWS = [
    {"service": "github.com", "account": "alice", "label": None, "attributes": {},
     "createdAt": 1795168800, "modifiedAt": 1795168800, "expiresAt": None, "sequence": 1,
     "secret": b"hunter2"},
    {"service": "example.org", "account": "", "label": "Work",
     "attributes": {"host": "mail.example.org", "port": "993"},
     "createdAt": 1795168800, "modifiedAt": 1795168860, "expiresAt": 253402300799, "sequence": 3,
     "secret": bytes(range(256)) * 5},
]
SLOTS = [
    {"number": 1, "kind": reader.KEY_FILE, "keyFile": bytes(range(0x80, 0xA0))},
    {"number": 2, "kind": reader.PASSPHRASE, "passphrase": "correct horse battery staple",
     "passes": 2, "kibibytes": 64, "salt": bytes(range(0xA0, 0xB0))},
    # An unknown kind.
    {"number": 3, "kind": 3, "content": b"of a later version"},
]
# A row with unknown fields, the last of which is critical.
EXTENDED = {
    "service": "example.net", "account": "bob", "label": None, "attributes": {},
    "createdAt": 1795168800, "modifiedAt": 1795168800, "expiresAt": None, "sequence": 4,
    "secret": b"correct horse", "fields": {1: b"of metadata", 0x7FFFFFFF: b""},
    "secretFields": {2: b"beside the secret", 0x80000002: b"critical"},
}


def seal(key: bytes, part: int, bound: bytes, message: bytes, nonce: bytes) -> bytes:
    """The message sealed with a key, bound to its kind and to further data."""
    return nonce + aead_encrypt(message, reader.prefix(part, STORE_ID) + bound, nonce, key)


def padded(message: bytes) -> bytes:
    """The message, followed by zeros and its size."""
    size = len(message)
    return message + bytes(reader.padded_size(size + 4) - size - 4) + reader.u32(size)


def encoded(fields: dict) -> bytes:
    """Fields in the order of their tags."""
    return b"".join(reader.u32(tag) + reader.u32(len(fields[tag])) + fields[tag]
                    for tag in sorted(fields))


def secret(row: dict) -> bytes:
    """The secret of a row before padding and sealing."""
    fields = encoded(row.get("secretFields", {}))
    return row["secret"] + (fields + reader.u32(len(fields)) if fields else b"")


def metadata(row: dict) -> bytes:
    """The metadata of a row before padding."""
    fields = encoded(row.get("fields", {}))
    flags = ((row["label"] is not None) | (row["expiresAt"] is not None) << 1 | bool(fields) << 2
             | ("secretFields" in row) << 3)
    times = row["createdAt"], row["modifiedAt"], row["expiresAt"] or 0
    attributes = sorted(row["attributes"].items(), key=lambda pair: pair[0].encode())
    texts = map(reader.text, (row["service"], row["account"], row["label"] or ""))
    return (struct.pack("<Iqqq", flags, *times) + b"".join(texts) + reader.u32(len(attributes))
            + b"".join(reader.text(name) + reader.text(value) for name, value in attributes) + fields)


def tag(key: tuple, taken: set) -> dict:
    """The tags of a key, and its first free address."""
    service_tag, key_tag = reader.tags(TAGS, *key)
    address = next(each for each in reader.addresses(service_tag, key_tag) if each not in taken)
    taken.add(address)
    return {"service": key[0], "account": key[1], "serviceTag": service_tag, "keyTag": key_tag,
            "address": address}


def stored_row(row: dict, number: int, taken: set) -> dict:
    """A row with the content of each column."""
    tags = tag((row["service"], row["account"]), taken)
    place = tags["serviceTag"] + tags["keyTag"] + reader.u64(row["sequence"])
    message, nonces = metadata(row), [bytes([number + part]) * 24 for part in (0, 1)]
    sealed = (seal(METADATA, reader.METADATA, place, padded(message), nonces[0]),
              seal(SECRETS, reader.SECRET, place, padded(secret(row)), nonces[1]))
    columns = tags["address"], tags["serviceTag"], tags["keyTag"], row["sequence"], *sealed
    return {**row, **tags, "metadataNonce": nonces[0], "secretNonce": nonces[1],
            "metadataMessage": message, "metadata": sealed[0], "secret": sealed[1],
            "secretHex": row["secret"], "hash": reader.row_hash(SUM, columns), "columns": columns}


def stored_slot(slot: dict) -> dict:
    """A slot with its body."""
    nonce, number = bytes([0x10 + slot["number"]]) * 24, slot["number"]
    if "content" in slot:
        return {**slot, "body": with_checksum(number, reader.u32(slot["kind"]) + slot["content"])}
    start = struct.pack("<III16s", slot["kind"], slot.get("passes", 0), slot.get("kibibytes", 0),
                        slot.get("salt", bytes(16)))
    credential = slot.get("keyFile") or slot["passphrase"].encode()
    key = reader.wrapping_key(start, credential)
    body = start + seal(key, reader.SLOT, reader.u32(number) + start, MASTER, nonce)
    return {**slot, "nonce": nonce, "wrappingKey": key, "body": with_checksum(number, body)}


def with_checksum(number: int, body: bytes) -> bytes:
    """The body of a slot, followed by its checksum."""
    return body + reader.blake2b(STORE_ID + reader.u32(number) + body, digest_size=16).digest()


def extended(slots_hash: bytes) -> dict:
    """A row with fields, and the header of a store that contains only this row."""
    row = stored_row(EXTENDED, 0x31, set())
    message = header([row], slots_hash)
    del row["columns"]
    return {**row, "secretMessage": secret(EXTENDED),
            "header": seal(HEADER, reader.HEADER, b"", message, b"\x22" * 24)}


def header(rows: list, slots_hash: bytes) -> bytes:
    """The header of a store with these rows, before sealing."""
    sequence = max((row["sequence"] for row in rows), default=0)
    total = reader.rows_sum(SUM, [row["columns"] for row in rows])
    return struct.pack("<QQQ32s32s", sequence, len(rows), EPOCH, total, slots_hash)


def vectors() -> dict:
    """All vectors, with byte strings unchanged."""
    taken, tagged = set(), set()
    rows = [stored_row(row, 1 + 2 * index, taken) for index, row in enumerate(ROWS)]
    slots = [stored_slot(slot) for slot in SLOTS]
    slots_hash = reader.slots_hash([(slot["number"], slot["body"]) for slot in slots])
    message, nonce = header(rows, slots_hash), b"\x21" * 24
    total = reader.rows_sum(SUM, [row.pop("columns") for row in rows])
    return {
        "master": MASTER, "storeID": STORE_ID, "rows": rows, "slots": slots, "sum": total,
        "subkeys": dict(enumerate(reader.subkeys(MASTER), 1)),
        "tags": [tag(key, tagged) for key in KEYS],
        "paddedSizes": [[size, reader.padded_size(size)] for size in SIZES],
        "header": {"sequence": rows[-1]["sequence"], "count": len(rows), "epoch": f"{EPOCH:016x}",
                   "slotsHash": slots_hash, "nonce": nonce, "message": message,
                   "sealed": seal(HEADER, reader.HEADER, b"", message, nonce)},
        "emptyHeader": seal(HEADER, reader.HEADER, b"", header([], slots_hash), b"\x20" * 24),
        "revision": reader.revision(EPOCH, rows[-1]["sequence"]), "extended": extended(slots_hash),
    }


def text() -> str:
    """The text of the file with the vectors."""
    return json.dumps(vectors(), indent=2, sort_keys=True, ensure_ascii=False,
                      default=bytes.hex) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
