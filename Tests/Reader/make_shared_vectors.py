#!/usr/bin/python3
"""Creates the vectors of docs/shared-format.md, and prints them: make_shared_vectors.py > vectors.json.

As in make_vectors.py, nothing is taken from kist.
"""

import json
import struct
import sys
from pathlib import Path

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt as aead_encrypt
from nacl.bindings import crypto_box, crypto_box_seed_keypair, crypto_sign, crypto_sign_seed_keypair

sys.path.insert(0, str(Path(__file__).parent))
import kist_reader as reader  # noqa: E402
import kist_shared_reader as shared  # noqa: E402
import make_vectors  # noqa: E402
from kist_reader import u32, u64  # noqa: E402

VAULT, TIME, EPOCH = bytes(range(0x70, 0x80)), 1795168800, make_vectors.EPOCH
MASTERS = [make_vectors.MASTER, bytes(range(0x20, 0x40))]
GENERATIONS = [shared.Generation(MASTERS[0], VAULT, 1, make_vectors.STORE_ID),
               shared.Generation(MASTERS[1], VAULT, 2, bytes(range(0x50, 0x60)))]
ADMIN_SEED = b"\xAD" * 32
ADMIN, ADMIN_SECRET = crypto_sign_seed_keypair(ADMIN_SEED)
NAMES = ["build-1", "web-7", "bücher"]
SEEDS = [bytes([0xA0 + index]) * 32 for index in range(3)]
MACHINES = [shared.Machine(seed) for seed in SEEDS]
BUILD, WEB, BOOKS = range(3)
ROLES, UNTIL = [shared.WRITER, shared.READER, shared.WRITER], [0, TIME + 86400, TIME + 3600]


def equal(byte: int) -> bytes:
    """A nonce of 24 equal bytes."""
    return bytes([byte]) * 24


def seal(generation: shared.Generation, key: bytes, part: int, bound: bytes, message: bytes, nonce: bytes) -> bytes:
    """The message sealed with a key and a nonce, bound to its kind and further data."""
    ad = reader.prefix(part, generation.store_id) + bound
    return nonce + aead_encrypt(message, ad, nonce, key)


def sign(secret: bytes, message: bytes) -> bytes:
    """The signature of a message."""
    return crypto_sign(message, secret)[:64]


def box(key: bytes, message: bytes, seed: int) -> bytes:
    """The message as crypto_box_seal seals it, with an ephemeral key of a seed of 32 equal bytes."""
    public, secret = crypto_box_seed_keypair(bytes([seed]) * 32)
    nonce = reader.blake2b(public + key, digest_size=24).digest()
    return public + crypto_box(message, nonce, key, secret)


def member(index: int, at: int) -> dict:
    """The parts of a machine in the roster of a generation."""
    generation, machine = GENERATIONS[at], MACHINES[index]
    wrapped = box(machine.box, generation.scope + generation.store_id + MASTERS[at], 0x50 + 16 * at + index)
    name = make_vectors.padded(NAMES[index].encode())
    sealed = seal(generation, generation.name, shared.NAME, machine.id, name, equal(0x40 + 16 * at + index))
    record = (machine.id + u32(ROLES[index]) + machine.signing + machine.box + wrapped + sealed
              + struct.pack("<qq", TIME, UNTIL[index]))
    return {"machine": index, "role": ROLES[index], "name": NAMES[index], "wrappedKey": wrapped,
            "sealedName": sealed, "nameNonce": sealed[:24], "added": TIME, "until": UNTIL[index], "record": record}


def roster(number: int, before: bytes, at: int, members: list[int]) -> dict:
    """A signed roster."""
    generation, members = GENERATIONS[at], [member(index, at) for index in members]
    members.sort(key=lambda each: MACHINES[each["machine"]].id)
    record = (u32(1) + VAULT + u64(number) + (shared.digest(before) if before else shared.NONE)
              + struct.pack("<qI", TIME + number, generation.number) + generation.store_id + generation.check
              + u32(1) + ADMIN + u32(len(members)) + b"".join(each.pop("record") for each in members) + u32(0))
    announcement = record + sign(ADMIN_SECRET, b"kist shared announcement" + record)
    record += sign(ADMIN_SECRET, b"kist shared roster" + record)
    return {"number": number, "generation": generation.number, "time": TIME + number, "members": members,
            "record": record, "digest": shared.digest(record), "announcement": announcement}


def row(at: int, credential: dict, nonce: int, before: dict | None = None) -> dict:
    """The row of a credential in a generation; sealed again, if it was in the generation before."""
    generation, sequence = GENERATIONS[at], u64(credential["sequence"])
    service_tag, key_tag = reader.tags(generation.keys[0], credential["service"], credential["account"])
    place = service_tag + key_tag + sequence
    parts = [make_vectors.padded(each(credential)) for each in (make_vectors.metadata, make_vectors.secret)]
    nonces = equal(nonce) + equal(nonce + 1)
    if before:
        key = reader.subkey(12, b"kiststor", MASTERS[at])
        nonces = reader.blake2b(before["metadata"] + before["secret"], digest_size=48, key=key).digest()
    metadata = seal(generation, generation.keys[1], reader.METADATA, place, parts[0], nonces[:24])
    secret = seal(generation, generation.keys[2], reader.SECRET, place, parts[1], nonces[24:])
    sealed = seal(generation, generation.place, shared.PLACE, key_tag + sequence, service_tag, equal(nonce + 2))
    row_hash = reader.row_hash(generation.keys[4], (0, service_tag, key_tag, credential["sequence"], metadata, secret))
    return {"generation": generation.number, "service": credential["service"], "account": credential["account"],
            "sequence": credential["sequence"], "serviceTag": service_tag, "keyTag": key_tag, "metadata": metadata,
            "secret": secret, "placeNonce": sealed[:24], "hash": row_hash,
            "record": u32(1) + sequence + sealed + u32(len(metadata)) + metadata + secret}


def head(at: int, machine: int, rows: list[dict], roster: dict, before: dict, change: tuple) -> dict:
    """The head after a change."""
    sequence, generation = before["sequence"] + 1 if before else 0, GENERATIONS[at]
    kind, key, saved = change
    total = sum(reader.number(each["hash"]) for each in rows) % (1 << 256)
    fields = {"sequence": sequence, "count": len(rows), "epoch": f"{EPOCH:016x}", "sum": total.to_bytes(32, "little"),
              "roster": roster["digest"], "before": before["digest"] if before else shared.NONE,
              "time": TIME + 10 + sequence, "operation": bytes([0xE0 + sequence]) * 16, "kind": kind, "key": key,
              "row": shared.digest(saved["record"]) if saved else shared.NONE}
    message = struct.pack("<QQQ32s32s32sq16sI16s32s", *(fields | {"epoch": EPOCH}).values())
    record = (u32(1) + MACHINES[machine].id
              + seal(generation, generation.keys[3], shared.HEAD, b"", message, equal(0x20 + sequence)))
    record += sign(MACHINES[machine].signing_secret, b"kist shared head" + generation.scope + record)
    return {**fields, "generation": generation.number, "machine": machine, "nonce": record[20:44], "message": message,
            "record": record, "digest": shared.digest(record)}


def beacon(index: int, seen: dict) -> dict:
    """What a machine has seen."""
    generation, machine = GENERATIONS[0], MACHINES[index]
    message = struct.pack("<Q32sq", seen["sequence"], seen["digest"], TIME + 60)
    sealed = seal(generation, generation.beacon, shared.BEACON, machine.id, message, equal(0x30))
    record = u32(1) + u32(generation.number) + sealed
    record += sign(machine.signing_secret, b"kist shared seen" + VAULT + machine.id + record)
    return {"machine": index, "sequence": seen["sequence"], "head": seen["digest"], "time": TIME + 60,
            "nonce": sealed[:24], "record": record}


def vectors() -> dict:
    """All vectors, with byte strings unchanged."""
    rosters = [roster(1, b"", 0, [BUILD, WEB])]
    rosters.append(roster(2, rosters[0]["record"], 0, [BUILD, WEB, BOOKS]))
    rosters.append(roster(3, rosters[1]["record"], 1, [BUILD, BOOKS]))
    alice, work = make_vectors.ROWS
    rows = [row(0, alice, 0x01), row(0, work, 0x04)]
    rows.append(row(1, work, 0x07, rows[1]))
    nobody, heads = bytes(16), []
    for at, machine, kept, named, change in (
        (0, BUILD, [], 0, (shared.BEGIN, nobody, None)),
        (0, BUILD, rows[:1], 0, (shared.SAVE, rows[0]["keyTag"], rows[0])),
        (0, BUILD, rows[:1], 1, (shared.ROSTER, nobody, None)),
        (0, BOOKS, rows[:2], 1, (shared.SAVE, rows[1]["keyTag"], rows[1])),
        (0, BUILD, rows[:2], 1, (shared.NOTHING, nobody, None)),
        (0, BUILD, rows[1:2], 1, (shared.DELETE, rows[0]["keyTag"], None)),
        (0, BUILD, rows[1:2], 1, (shared.ANNOUNCEMENT, nobody, None)),
        (0, BUILD, rows[1:2], 1, (shared.PAUSE, nobody, None)),
        (1, BUILD, rows[2:], 2, (shared.GENERATION, nobody, None)),
    ):
        heads.append(head(at, machine, kept, rosters[named], heads[-1] if heads else None, change))
    seen = beacon(WEB, heads[5])
    log = {f"00000001/log/{each['sequence']:016x}": each["record"] for each in heads[:6]}
    return {
        "vault": VAULT, "admin": {"seed": ADMIN_SEED, "public": ADMIN}, "epoch": f"{EPOCH:016x}",
        "machines": [{"seed": seed, "signing": each.signing, "box": each.box, "id": each.id}
                     for seed, each in zip(SEEDS, MACHINES, strict=True)],
        "generations": [{"master": master, "number": each.number, "storeID": each.store_id, "check": each.check,
                         "subkeys": {"9": each.place, "10": each.name, "11": each.beacon}}
                        for master, each in zip(MASTERS, GENERATIONS, strict=True)],
        "rosters": rosters, "rows": rows, "heads": heads, "beacon": seen,
        # All records after the sixth head.
        "records": {**{shared.roster_path(number): rosters[number - 1]["record"] for number in (1, 2)},
                    "00000001/head": heads[5]["record"], **log,
                    f"00000001/row/{rows[1]['keyTag'].hex()}": rows[1]["record"],
                    f"seen/{MACHINES[WEB].id.hex()}": seen["record"]},
    }


def text() -> str:
    """The text of the file with the vectors."""
    return json.dumps(vectors(), indent=2, sort_keys=True, ensure_ascii=False, default=bytes.hex) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
