#!/usr/bin/python3
"""Checks kist_shared_reader against the vectors of docs/shared-format.md."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import kist_reader as reader  # noqa: E402
import kist_shared_reader as shared  # noqa: E402
import make_shared_vectors as maker  # noqa: E402

DEFAULT = Path(__file__).parent.parent / "KistSharedTests" / "Golden" / "vectors.json"
VECTORS = json.loads(DEFAULT.read_text("utf-8"))
VAULT, ADMIN = bytes.fromhex(VECTORS["vault"]), bytes.fromhex(VECTORS["admin"]["public"])
RECORDS = {path: bytes.fromhex(record) for path, record in VECTORS["records"].items()}
WEB = maker.MACHINES[maker.WEB]
ROW = next(path for path in RECORDS if "/row/" in path)
HEAD = "00000001/head"


def record(vector: dict) -> bytes:
    """The bytes of a record."""
    return bytes.fromhex(vector["record"])


def rosters() -> list[dict]:
    """The rosters, each verified by the one before."""
    verified = [shared.verify_roster(record(VECTORS["rosters"][0]), VAULT, ADMIN)]
    for each in VECTORS["rosters"][1:]:
        verified.append(shared.verify_next_roster(record(each), verified[-1]))
    return verified


class SharedRecords(unittest.TestCase):
    """The result of each function for the vectors."""

    def test_the_vectors_match_the_output_of_their_script(self) -> None:
        self.assertEqual(maker.text(), DEFAULT.read_text("utf-8"))

    def test_machines(self) -> None:
        for vector in VECTORS["machines"]:
            machine = shared.Machine(bytes.fromhex(vector["seed"]))
            found = [each.hex() for each in (machine.signing, machine.box, machine.id)]
            self.assertEqual(found, [vector["signing"], vector["box"], vector["id"]])

    def test_each_member_opens_the_key_and_the_names(self) -> None:
        for roster, vector in zip(rosters(), VECTORS["rosters"], strict=True):
            self.assertEqual(roster["digest"].hex(), vector["digest"])
            for member in vector["members"]:
                generation = shared.open_generation(roster, maker.MACHINES[member["machine"]])
                names = [shared.member_name(generation, each) for each in roster["members"]]
                self.assertEqual(names, [each["name"] for each in vector["members"]])
        with self.assertRaisesRegex(ValueError, "not a member"):
            shared.open_generation(rosters()[2], WEB)

    def test_heads_and_rows(self) -> None:
        before = shared.NONE
        for vector in VECTORS["heads"]:
            generation = maker.GENERATIONS[vector["generation"] - 1]
            head = shared.open_head(generation, rosters(), record(vector))
            for name in ("sequence", "count", "time", "kind"):
                self.assertEqual(head[name], vector[name])
            for name in ("sum", "roster", "operation", "key", "row", "digest"):
                self.assertEqual(head[name].hex(), vector[name])
            self.assertEqual(head["before"], before)
            before = head["digest"]
        for vector in VECTORS["rows"]:
            generation = maker.GENERATIONS[vector["generation"] - 1]
            opened, row_hash = shared.open_row(generation, bytes.fromhex(vector["keyTag"]), record(vector))
            self.assertEqual((opened["service"], opened["sequence"]), (vector["service"], vector["sequence"]))
            self.assertEqual(row_hash.hex(), vector["hash"])

    def test_beacon(self) -> None:
        vector, member = VECTORS["beacon"], {"id": WEB.id, "signing": WEB.signing}
        beacon = shared.open_beacon(maker.GENERATIONS[0], member, record(vector))
        self.assertEqual((beacon["sequence"], beacon["head"].hex(), beacon["time"]),
                         (vector["sequence"], vector["head"], vector["time"]))

    def test_every_changed_byte_is_refused(self) -> None:
        generation, member = maker.GENERATIONS[0], {"id": WEB.id, "signing": WEB.signing}
        key_tag = bytes.fromhex(VECTORS["rows"][0]["keyTag"])
        for whole, opened in (
            (record(VECTORS["rosters"][1]), lambda each: shared.verify_roster(each, VAULT, ADMIN)),
            (record(VECTORS["heads"][1]), lambda each: shared.open_head(generation, rosters(), each)),
            (record(VECTORS["rows"][0]), lambda each: shared.open_row(generation, key_tag, each)),
            (record(VECTORS["beacon"]), lambda each: shared.open_beacon(generation, member, each)),
        ):
            opened(whole)
            changed = [whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1:] for at in range(len(whole))]
            for each in [*changed, whole[:-1], whole + b"\0", b""]:
                with self.assertRaises(ValueError):
                    opened(each)


class SharedVault(unittest.TestCase):
    """The program, on all records of a vault."""

    def read(self, records: dict[str, bytes]) -> list[dict]:
        return shared.read_vault(records, VAULT, ADMIN, WEB)

    def test_prints_the_credentials(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            records, seed = Path(folder, "records.json"), Path(folder, "seed")
            records.write_text(json.dumps(VECTORS["records"]))
            seed.write_bytes(maker.SEEDS[maker.WEB])
            command = [shared.__file__, str(records), "--vault", VAULT.hex(), "--admin", ADMIN.hex(),
                       "--seed", str(seed)]
            result = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            credential = json.loads(result.stdout)
            self.assertEqual((credential["service"], credential["label"]), ("example.org", "Work"))
            self.assertEqual(credential["revision"], reader.revision(maker.EPOCH, 3))
            command[3] = bytes(16).hex()
            result = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr),
                             (1, "kist_reader: roster: it is of another vault\n"))

    def test_refuses_records_that_do_not_belong_together(self) -> None:
        self.assertEqual(len(self.read(RECORDS)), 1)
        first, last = "00000001/log/0000000000000000", "00000001/log/0000000000000005"
        key_tag, old = VECTORS["rows"][0]["keyTag"], record(VECTORS["rows"][0])
        for change, reason in (
            ({ROW: None}, "rows are missing"),
            ({f"00000001/row/{key_tag}": old}, "too many"),
            ({ROW: old}, "does not open"),
            ({HEAD: RECORDS[first]}, "roster is unknown"),
            ({HEAD: record(VECTORS["heads"][4]), last: None}, "rows are missing"),
            ({last: RECORDS[first]}, "last log entry"),
            ({shared.roster_path(2): None}, "roster is unknown"),
            ({shared.roster_path(3): record(VECTORS["rosters"][2])}, "not a member"),
            ({shared.roster_path(2): record(VECTORS["rosters"][2])}, "roster: "),
            ({shared.roster_path(1): record(VECTORS["rosters"][1])}, "first one has another number"),
        ):
            records = {path: record for path, record in (RECORDS | change).items() if record is not None}
            with self.subTest(change.keys()), self.assertRaisesRegex(ValueError, reason):
                self.read(records)


if __name__ == "__main__":
    unittest.main()
