#!/usr/bin/python3
"""Reads the records of a vault that several machines share, version 1 (docs/shared-format.md).

    kist_shared_reader.py RECORDS --vault ID --admin KEY --seed FILE

RECORDS is a JSON object with the records in hexadecimal, by their paths.
"""

import argparse
import json
import struct
import sys
from hashlib import blake2b
from pathlib import Path

from nacl.bindings import crypto_box_seal_open, crypto_box_seed_keypair, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import CryptoError

sys.path.insert(0, str(Path(__file__).parent))
import kist_reader as reader  # noqa: E402
from kist_reader import number, require, u32, u64, within  # noqa: E402

PLACE, HEAD, NAME, BEACON = 8, 9, 10, 11
READER, WRITER = 1, 2
BEGIN, SAVE, DELETE, NOTHING, ROSTER, GENERATION, PAUSE, ANNOUNCEMENT = range(8)
NONE = bytes(32)
MOST_MEMBERS, MOST_ADMINS = 3000, 16


def digest(record: bytes) -> bytes:
    """The BLAKE2b-32 of a record."""
    return blake2b(record, digest_size=32).digest()


def require_version(record: bytes) -> None:
    """Refuses a record of another version."""
    require(number(record[:4]) == 1, "it has another version" if record[4:] else "it is too short")


def require_time(*times: int) -> None:
    """Refuses times that are out of range."""
    require(all(time in reader.TIMES for time in times), "a time is out of range")


def require_signature(key: bytes, signature: bytes, message: bytes) -> None:
    """Refuses a signature that is not of this key and message."""
    try:
        crypto_sign_open(signature + message, key)
    except CryptoError:
        raise ValueError("the signature is wrong") from None


class Machine:
    """The keys of a machine."""

    def __init__(self, seed: bytes):
        self.signing, self.signing_secret = crypto_sign_seed_keypair(reader.subkey(1, b"kistmach", seed))
        self.box, self.box_secret = crypto_box_seed_keypair(reader.subkey(2, b"kistmach", seed))
        self.id = machine_id(self.signing, self.box)


def machine_id(signing: bytes, box: bytes) -> bytes:
    """The id of the machine with these public keys."""
    return blake2b(b"kist shared machine" + signing + box, digest_size=16).digest()


class Generation:
    """The keys of a generation."""

    def __init__(self, master: bytes, vault: bytes, generation: int, store_id: bytes):
        self.vault, self.number, self.store_id = vault, generation, store_id
        self.keys = reader.subkeys(master)
        self.place, self.name, self.beacon = (reader.subkey(i, b"kiststor", master) for i in (9, 10, 11))
        self.scope = vault + u32(generation)
        message = b"kist shared key" + self.scope + store_id
        self.check = blake2b(message, digest_size=32, key=master).digest()

    def unseal(self, key: bytes, part: int, bound: bytes, sealed: bytes) -> bytes:
        """The message that was sealed for this kind and these further bytes."""
        return reader.unseal(key, reader.prefix(part, self.store_id) + bound, sealed)


def parse_member(record: bytes) -> dict:
    """A member of a roster."""
    names = ("id", "role", "signing", "box", "wrapped", "name", "added", "until")
    member = dict(zip(names, struct.unpack("<16sI32s32s116s104sqq", record), strict=True))
    require(member["role"] in (READER, WRITER), "a role is unknown")
    require(member["id"] == machine_id(member["signing"], member["box"]), "an id is not of its keys")
    require_time(member["added"], member["until"])
    return member


def parse_roster(record: bytes) -> dict:
    """The content of a roster, whose signature is not checked."""
    require_version(record)
    require(len(record) >= 124, "it is too short")
    names = ("vault", "number", "before", "time", "generation", "storeID", "check", "admins")
    roster = dict(zip(names, struct.unpack("<16sQ32sqI16s32sI", record[4:124]), strict=True))
    count = roster["admins"]
    require(1 <= count <= MOST_ADMINS, "it has no admins, or too many")
    start = 124 + 32 * count
    members = number(record[start:start + 4])
    require(members <= MOST_MEMBERS, "it has too many members")
    require(len(record) == start + 4 + 320 * members + 68, "its size is wrong")
    roster["admins"] = [record[at:at + 32] for at in range(124, start, 32)]
    roster["members"] = [parse_member(record[at:at + 320]) for at in range(start + 4, len(record) - 68, 320)]
    roster["admin"], roster["digest"] = number(record[-68:-64]), digest(record)
    ids = [member["id"] for member in roster["members"]]
    require(ids == sorted(set(ids)), "its members are not in the order of their ids")
    require(len(set(roster["admins"])) == count, "an admin occurs twice")
    require(roster["number"] >= 1 and roster["generation"] >= 1, "a number is 0")
    require((roster["number"] == 1) == (roster["before"] == NONE), "only the first one has no roster before")
    require_time(roster["time"])
    return roster


def verify_roster(record: bytes, vault: bytes, admin: bytes) -> dict:
    """The roster of a vault that an admin signed."""
    roster = parse_roster(record)
    require(roster["vault"] == vault, "it is of another vault")
    require_signature(admin, record[-64:], b"kist shared roster" + record[:-64])
    return roster


def verify_next_roster(record: bytes, before: dict) -> dict:
    """The roster directly after another one."""
    roster = parse_roster(record)
    require(roster["admin"] < len(before["admins"]), "there is no such admin")
    verify_roster(record, before["vault"], before["admins"][roster["admin"]])
    require(roster["number"] == before["number"] + 1 and roster["before"] == before["digest"],
            "it does not follow the one before")
    changed = roster["generation"] - before["generation"]
    same = [roster[name] == before[name] for name in ("storeID", "check")]
    require(changed >= 0 and same == [changed == 0] * 2, "its generation does not follow")
    return roster


def open_generation(roster: dict, machine: Machine) -> Generation:
    """The keys that the roster has for a machine."""
    wrapped = [member["wrapped"] for member in roster["members"] if member["id"] == machine.id]
    require(len(wrapped) == 1, "the machine is not a member")
    message = crypto_box_seal_open(wrapped[0], machine.box, machine.box_secret)
    start = roster["vault"] + u32(roster["generation"]) + roster["storeID"]
    require(len(message) == 68 and message[:36] == start, "the wrapped key is of another generation")
    generation = Generation(message[36:], roster["vault"], roster["generation"], roster["storeID"])
    require(generation.check == roster["check"], "the wrapped key is not the one of the vault")
    return generation


def member_name(generation: Generation, member: dict) -> str:
    """The name of a member."""
    return reader.unpadded(generation.unseal(generation.name, NAME, member["id"], member["name"])).decode()


def open_head(generation: Generation, rosters: list[dict], record: bytes) -> dict:
    """The content of a head, or of a log entry, after all checks that need no other head."""
    require_version(record)
    require(len(record) == 320, "it has not 320 bytes")
    message = generation.unseal(generation.keys[3], HEAD, b"", record[20:256])
    names = ("sequence", "count", "epoch", "sum", "roster", "before", "time", "operation", "kind", "key", "row")
    head = dict(zip(names, struct.unpack("<QQQ32s32s32sq16sI16s32s", message), strict=True))
    head["digest"], head["machine"] = digest(record), record[4:20]
    rosters = [each for each in rosters if each["digest"] == head["roster"]]
    require(len(rosters) == 1, "its roster is unknown")
    members = [each for each in rosters[0]["members"] if each["id"] == head["machine"]]
    require(len(members) == 1 and members[0]["role"] == WRITER, "it is not by a writer")
    require(not members[0]["until"] or head["time"] <= members[0]["until"], "the writer's time was over")
    require_signature(members[0]["signing"], record[256:], b"kist shared head" + generation.scope + record[:256])
    require(head["count"] <= head["sequence"] <= reader.LAST_SEQUENCE, "its numbers are out of range")
    require(head["kind"] <= ANNOUNCEMENT, "its kind is unknown")
    require(head["kind"] in (SAVE, DELETE) or head["key"] == bytes(16), "it has a key tag without a credential")
    require(head["kind"] == SAVE or head["row"] == NONE, "it has a row that was not saved")
    first = (head["kind"] == BEGIN, head["sequence"] == 0, head["before"] == NONE)
    require(len(set(first)) == 1, "only the first one has no head before")
    require(head["count"] or head["sum"] == NONE, "it has a sum without credentials")
    require_time(head["time"])
    return head


def open_row(generation: Generation, key_tag: bytes, record: bytes) -> tuple[dict, bytes]:
    """A credential, and the hash of its row."""
    require_version(record)
    require(len(record) >= 72, "it is too short")
    sequence, size = number(record[4:12]), number(record[68:72])
    require(len(record) <= reader.LONGEST_ROW, "it is too long")
    metadata, secret = record[72:72 + size], record[72 + size:]
    require(min(len(metadata), len(secret)) >= 104 and len(metadata) == size, "its parts are too short")
    service_tag = generation.unseal(generation.place, PLACE, key_tag + u64(sequence), record[12:68])
    address = reader.addresses(service_tag, key_tag)[0]
    row = address, service_tag, key_tag, sequence, metadata, secret
    opened = reader.open_row(generation.keys, generation.store_id, row)
    return opened | {"sequence": sequence}, reader.row_hash(generation.keys[4], row)


def open_beacon(generation: Generation, member: dict, record: bytes) -> dict:
    """What a member has seen."""
    require_version(record)
    require(len(record) == 160 and number(record[4:8]) == generation.number, "its size or generation is wrong")
    require_signature(member["signing"], record[96:],
                      b"kist shared seen" + generation.vault + member["id"] + record[:96])
    message = generation.unseal(generation.beacon, BEACON, member["id"], record[8:96])
    return dict(zip(("sequence", "head", "time"), struct.unpack("<Q32sq", message), strict=True))


def roster_path(number: int) -> str:
    """The path of the roster with a number."""
    return f"roster/{number:016x}"


def read_vault(records: dict[str, bytes], vault: bytes, admin: bytes, machine: Machine) -> list[dict]:
    """The credentials of a vault, when every check passes."""
    with within("roster"):
        roster = verify_roster(records[roster_path(1)], vault, admin)
        require(roster["number"] == 1, "the first one has another number")
        while following := records.get(roster_path(roster["number"] + 1)):
            roster = verify_next_roster(following, roster)
        generation = open_generation(roster, machine)
    prefix = f"{generation.number:08x}/"
    with within("head"):
        head = open_head(generation, [roster], records[prefix + "head"])
        log = f"{prefix}log/{head['sequence']:016x}"
        require(records[log] == records[prefix + "head"], "the last log entry differs from it")
    credentials, total = [], 0
    for path, record in records.items():
        if path.startswith(prefix + "row/"):
            with within(path):
                opened, row_hash = open_row(generation, bytes.fromhex(path.rpartition("/")[2]), record)
                require(opened["sequence"] <= head["sequence"], "its sequence is greater than the head's")
            total += number(row_hash)
            credentials.append(opened)
    require(len({each["sequence"] for each in credentials}) == len(credentials), "rows: two have one sequence")
    require(len(credentials) == head["count"], "sum: rows are missing, or there are too many")
    require((total % (1 << 256)).to_bytes(32, "little") == head["sum"], "sum: the rows are not those of the head")
    for each in credentials:
        each["revision"] = reader.revision(head["epoch"], each.pop("sequence"))
    return sorted(credentials, key=lambda each: (each["service"], each["account"]))


def main() -> None:
    """Prints the credentials, or an error on stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", metavar="RECORDS", type=Path)
    parser.add_argument("--vault", required=True, type=bytes.fromhex, help="the id of the vault")
    parser.add_argument("--admin", required=True, type=bytes.fromhex, help="the public key of an admin")
    parser.add_argument("--seed", required=True, type=Path, help="the file with the 32 bytes of the machine's seed")
    arguments = parser.parse_args()
    try:
        records = {path: bytes.fromhex(record) for path, record in json.loads(arguments.records.read_text()).items()}
        machine = Machine(arguments.seed.read_bytes())
        credentials = read_vault(records, arguments.vault, arguments.admin, machine)
    except KeyError as error:
        reader.refuse(f"the record {error} is missing")
    except (ValueError, OSError, CryptoError) as error:
        reader.refuse(str(error))
    for credential in credentials:
        print(reader.json_line(credential))


if __name__ == "__main__":
    main()
