#!/usr/bin/python3
"""Checks kist_reader against the vectors of docs/file-format.md: python3 -m unittest test_vectors.

The vectors are those of the golden stores, or the file that KIST_VECTORS names.
"""

import base64
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt as aead_encrypt

sys.path.insert(0, str(Path(__file__).parent))
import kist_reader as reader  # noqa: E402
import make_vectors  # noqa: E402

# So this program also checks the records of a shared vault.
from test_shared_vectors import SharedRecords, SharedVault  # noqa: E402, F401

DEFAULT = Path(__file__).parent.parent / "KistFileTests" / "Golden" / "vectors.json"
VECTORS = json.loads(Path(os.environ.get("KIST_VECTORS", DEFAULT)).read_text("utf-8"))
KINDS = {"emptyHeader", "extended", "header", "master", "paddedSizes", "revision", "rows", "slots", "storeID",
         "subkeys", "sum", "tags"}
MASTER, STORE_ID = bytes.fromhex(VECTORS["master"]), bytes.fromhex(VECTORS["storeID"])
KEYS = reader.subkeys(MASTER)
EXTENDED = VECTORS["extended"]
ROW_FIELDS = ("service", "account", "label", "attributes", "createdAt", "modifiedAt", "expiresAt")


def stored_row(vector: dict) -> tuple:
    """The row of the table `credential`."""
    sealed = bytes.fromhex(vector["metadata"]), bytes.fromhex(vector["secret"])
    tags = reader.tags(KEYS[0], vector["service"], vector["account"])
    return vector["address"], *tags, vector["sequence"], *sealed


def stored_slots() -> list[tuple]:
    """The table `slot`."""
    return [(slot["number"], bytes.fromhex(slot["body"])) for slot in VECTORS["slots"]]


def slot_credential(slot: dict) -> bytes:
    """The bytes that open the slot."""
    return bytes.fromhex(slot["keyFile"]) if "keyFile" in slot else slot["passphrase"].encode()


def sealed_header(message: bytes) -> bytes:
    """The message sealed as a header."""
    nonce = bytes(24)
    return nonce + aead_encrypt(message, reader.prefix(reader.HEADER, STORE_ID), nonce, KEYS[3])


class Functions(unittest.TestCase):
    """The result of each function for the vectors of its kind."""

    def test_every_kind_of_vector_is_known(self) -> None:
        self.assertEqual(set(VECTORS), KINDS)

    @unittest.skipIf("KIST_VECTORS" in os.environ, "those of another program")
    def test_the_vectors_match_the_output_of_their_script(self) -> None:
        self.assertEqual(make_vectors.text(), DEFAULT.read_text("utf-8"))

    def test_subkeys(self) -> None:
        expected = {str(i): key.hex() for i, key in enumerate(KEYS, 1)}
        self.assertEqual(VECTORS["subkeys"], expected)

    def test_tags(self) -> None:
        for tag in VECTORS["tags"]:
            with self.subTest(tag):
                found = reader.tags(KEYS[0], tag["service"], tag["account"])
                self.assertEqual([t.hex() for t in found], [tag["serviceTag"], tag["keyTag"]])
                self.assertIn(tag["address"], reader.addresses(*found))

    def test_padded_sizes(self) -> None:
        for size, padded in VECTORS["paddedSizes"]:
            with self.subTest(size):
                self.assertEqual(reader.padded_size(size), padded)

    def test_slots_open_with_their_wrapping_keys(self) -> None:
        for slot in VECTORS["slots"]:
            with self.subTest(slot["number"]):
                number, body = slot["number"], bytes.fromhex(slot["body"])
                reader.check_slot(STORE_ID, number, body)
                self.assertEqual(body[:4], reader.u32(slot["kind"]))
                if "content" in slot:
                    self.assertEqual(body[4:-16].hex(), slot["content"])
                    continue
                self.assertEqual(body[4:8], reader.u32(slot.get("passes", 0)))
                self.assertEqual(body[8:12], reader.u32(slot.get("kibibytes", 0)))
                self.assertEqual(body[12:28].hex(), slot.get("salt", bytes(16).hex()))
                self.assertEqual(body[28:52].hex(), slot["nonce"])
                credential = slot_credential(slot)
                self.assertEqual(reader.wrapping_key(body, credential).hex(), slot["wrappingKey"])
                self.assertEqual(reader.open_slot(STORE_ID, number, body, credential), MASTER)

    def test_header(self) -> None:
        vector = VECTORS["header"]
        sealed, slots = bytes.fromhex(vector["sealed"]), bytes.fromhex(vector["slotsHash"])
        self.assertEqual(sealed[:24].hex(), vector["nonce"])
        ad = reader.prefix(reader.HEADER, STORE_ID)
        self.assertEqual(reader.unseal(KEYS[3], ad, sealed).hex(), vector["message"])
        total, epoch = bytes.fromhex(VECTORS["sum"]), int(vector["epoch"], 16)
        self.assertEqual(reader.open_header(KEYS[3], STORE_ID, sealed),
                         (vector["sequence"], vector["count"], epoch, total, slots))
        self.assertEqual(reader.slots_hash(stored_slots()), slots)

    def test_empty_header(self) -> None:
        sealed = bytes.fromhex(VECTORS["emptyHeader"])
        epoch, slots = int(VECTORS["header"]["epoch"], 16), reader.slots_hash(stored_slots())
        self.assertEqual(reader.open_header(KEYS[3], STORE_ID, sealed),
                         (0, 0, epoch, bytes(32), slots))

    def test_rows(self) -> None:
        for vector in VECTORS["rows"]:
            with self.subTest(vector["service"]):
                row = stored_row(vector)
                self.assertEqual(row[4][:24].hex(), vector["metadataNonce"])
                self.assertEqual(row[5][:24].hex(), vector["secretNonce"])
                place = row[1] + row[2] + reader.u64(row[3])
                ad = reader.prefix(reader.METADATA, STORE_ID) + place
                metadata = reader.unpadded(reader.unseal(KEYS[1], ad, row[4]))
                self.assertEqual(metadata.hex(), vector["metadataMessage"])
                expected = {name: vector[name] for name in ROW_FIELDS} | {"fields": {}}
                self.assertEqual(reader.parse_metadata(metadata),
                                 expected | {"hasSecretFields": False})
                expected |= {"secret": bytes.fromhex(vector["secretHex"]), "secretFields": {}}
                self.assertEqual(reader.open_row(KEYS, STORE_ID, row), expected)
                self.assertEqual(reader.row_hash(KEYS[4], row).hex(), vector["hash"])

    def test_row_with_fields(self) -> None:
        row = stored_row(EXTENDED)
        opened = reader.open_row(KEYS, STORE_ID, row)
        self.assertEqual(opened["secret"].hex(), EXTENDED["secretHex"])
        for name in ("fields", "secretFields"):
            self.assertEqual(opened[name], {int(tag): bytes.fromhex(value)
                                            for tag, value in EXTENDED[name].items()})
        self.assertEqual(reader.row_hash(KEYS[4], row).hex(), EXTENDED["hash"])
        message = bytes.fromhex(EXTENDED["secretMessage"])
        self.assertEqual(reader.split_secret(message), (opened["secret"], opened["secretFields"]))

    def test_sum(self) -> None:
        rows = [stored_row(vector) for vector in VECTORS["rows"]]
        self.assertEqual(reader.rows_sum(KEYS[4], rows).hex(), VECTORS["sum"])

    def test_revision(self) -> None:
        epoch, sequence = int(VECTORS["header"]["epoch"], 16), VECTORS["rows"][1]["sequence"]
        self.assertEqual(reader.revision(epoch, sequence), VECTORS["revision"])

    def test_times_at_both_ends_of_their_range(self) -> None:
        self.assertEqual(reader.timestamp(-62167219200), "0000-01-01T00:00:00Z")
        self.assertEqual(reader.timestamp(-1), "1969-12-31T23:59:59Z")
        self.assertEqual(reader.timestamp(253402300799), "9999-12-31T23:59:59Z")


class Program(unittest.TestCase):
    """The output of the program for the store of the vectors, intact and with one fault."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = Path(directory.name) / "credentials.db"
        self.key_file = Path(directory.name) / "key"
        self.key_file.write_bytes(slot_credential(VECTORS["slots"][0]))
        with closing(sqlite3.connect(self.store)) as database, database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"PRAGMA application_id = {reader.APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {reader.VERSION}")
            for sql in reader.SCHEMA.values():
                database.execute(sql)
            header = bytes.fromhex(VECTORS["header"]["sealed"])
            database.execute("INSERT INTO store VALUES (?, ?)", (STORE_ID, header))
            database.executemany("INSERT INTO slot VALUES (?, ?)", stored_slots())
            database.executemany("INSERT INTO credential VALUES (?, ?, ?, ?, ?, ?)",
                                 map(stored_row, VECTORS["rows"]))

    def run_reader(self, *options: str, **keywords) -> subprocess.CompletedProcess:
        """The program's result for the store."""
        command = [sys.executable, reader.__file__, str(self.store), *options]
        return subprocess.run(command, capture_output=True, encoding="utf-8", **keywords)

    def assert_refused(self, *words: str, **keywords) -> None:
        """Expects the program to fail and to print one line with the words."""
        result = self.run_reader("--key-file", str(self.key_file), **keywords)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def change(self, sql: str, *parameters: bytes | int) -> None:
        """Changes the store without kist."""
        with closing(sqlite3.connect(self.store)) as database, database:
            database.execute(sql, parameters)

    def assert_printed(self, result: subprocess.CompletedProcess) -> None:
        """Expects the program to print the sorted rows of the vectors."""
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        printed = [json.loads(line) for line in result.stdout.splitlines()]
        rows = sorted(VECTORS["rows"], key=lambda row: (row["service"], row["account"]))
        self.assertEqual(len(printed), len(rows))
        for credential, row in zip(printed, rows):
            for name in ROW_FIELDS:
                expected = row[name]
                if name.endswith("At") and expected is not None:
                    expected = reader.timestamp(expected)
                self.assertEqual(credential.pop(name, None), expected)
            secret = base64.b64decode(credential.pop("secretBase64"))
            self.assertEqual(secret.hex(), row["secretHex"])
            epoch = VECTORS["revision"].partition(".")[0]
            self.assertEqual(credential, {"revision": f"{epoch}.{row['sequence']}"})

    def test_prints_the_credentials_with_the_key_file(self) -> None:
        self.assert_printed(self.run_reader("--key-file", str(self.key_file)))

    def test_prints_the_credentials_with_the_passphrase(self) -> None:
        passphrase = VECTORS["slots"][1]["passphrase"]
        self.assert_printed(self.run_reader("--passphrase-fd", "0", input=passphrase))

    def test_prints_the_fields_of_a_later_version(self) -> None:
        self.change("DELETE FROM credential")
        self.change("UPDATE store SET header = ?", bytes.fromhex(EXTENDED["header"]))
        self.change("INSERT INTO credential VALUES (?, ?, ?, ?, ?, ?)", *stored_row(EXTENDED))
        result = self.run_reader("--key-file", str(self.key_file))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        printed = json.loads(result.stdout)
        for name in ("fields", "secretFields"):
            self.assertEqual(printed[name], EXTENDED[name])

    def test_prints_the_golden_store_with_a_key_slot_and_fields_of_a_later_version(self) -> None:
        golden = DEFAULT.parent
        shutil.copy(golden / "v1-extended.db", self.store)
        shutil.copy(golden / "v1-key-file.key", self.key_file)
        result = self.run_reader("--key-file", str(self.key_file))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        printed = [json.loads(line) for line in result.stdout.splitlines()]
        later = {"1": b"of a later version".hex(), "256": ""}
        self.assertEqual([each.pop("fields") for each in printed if "fields" in each], [later])
        self.assertEqual([each.pop("secretFields") for each in printed if "secretFields" in each], [later])
        for each in printed:
            each["revision"] = each["revision"].partition(".")[2]
            each["secretHex"] = base64.b64decode(each.pop("secretBase64")).hex()
        content = json.loads((golden / "content.json").read_text("utf-8"))["credentials"]
        self.assertEqual(printed, sorted(content, key=lambda each: (each["service"], each["account"])))

    def test_prints_the_keys(self) -> None:
        result = self.run_reader("--key-file", str(self.key_file), "--keys")
        self.assertEqual(result.stdout.split(), [key.hex() for key in [MASTER, *KEYS]])

    def test_opens_the_names_of_the_audit_log_in_its_page(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
        log = self.key_file.with_name("audit.jsonl")
        log.write_text(page.partition("```jsonl\n")[2].partition("```")[0], "utf-8")
        golden = DEFAULT.parent
        shutil.copy(golden / "v1-key-file.db", self.store)
        shutil.copy(golden / "v1-key-file.key", self.key_file)
        result = self.run_reader("--key-file", str(self.key_file), "--audit", str(log))
        records = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(each.get("service"), each.get("account")) for each in records],
                         [("github.com", "alice"), ("backup.example", ""), (None, None)])

    def test_verifies_the_chain_of_the_audit_log_in_its_page(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
        whole = page.partition("```jsonl\n")[2].partition("```")[0].encode()
        golden = DEFAULT.parent
        shutil.copy(golden / "v1-key-file.db", self.store)
        shutil.copy(golden / "v1-key-file.key", self.key_file)
        log = self.key_file.with_name("audit.jsonl")
        first, second, third = whole.splitlines(keepends=True)
        for lines, is_right in [(whole, True), (first + third, False), (second + first + third, False),
                                (first + second + second + third, False), (first + second, False),
                                (whole.replace(b"5001", b"5002"), False), (whole.replace(b"977", b"978"), False)]:
            log.write_bytes(lines)
            result = self.run_reader("--key-file", str(self.key_file), "--audit", str(log), "--verify")
            self.assertEqual(result.returncode == 0, is_right, lines)

    def test_reads_a_copy_with_changes_that_are_only_in_the_log(self) -> None:
        with closing(sqlite3.connect(self.store)) as database:
            database.execute("PRAGMA wal_autocheckpoint = 0")
            database.execute("DELETE FROM credential")
            database.execute("UPDATE store SET header = ?",
                             (bytes.fromhex(VECTORS["emptyHeader"]),))
            database.commit()
            self.store = self.store.with_name("copy.db")
            for end in ("", "-wal"):
                shutil.copy(self.key_file.with_name("credentials.db" + end), f"{self.store}{end}")
        result = self.run_reader("--key-file", str(self.key_file))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_refuses_a_file_that_is_not_a_database(self) -> None:
        self.store.write_bytes(b"something else" * 100)
        self.assert_refused("not a database")
        self.store.write_bytes(b"")
        self.assert_refused("not a store of kist")
        self.store.unlink()
        self.assert_refused("unable to open")

    def test_refuses_another_version(self) -> None:
        self.change("PRAGMA user_version = 2")
        self.assert_refused("wrong version")

    def test_refuses_another_schema(self) -> None:
        self.change("CREATE INDEX sequence ON credential (sequence)")
        self.assert_refused("schema")

    def test_refuses_a_broken_schema(self) -> None:
        self.change("PRAGMA journal_mode = DELETE")
        whole = self.store.read_bytes()
        for damage in (b"CREATE TABLX slot", b"CREATE TABLE sl\xff\n"):
            self.store.write_bytes(whole.replace(b"CREATE TABLE slot", damage))
            self.assert_refused("schema")

    def test_refuses_a_damaged_slot_even_if_another_opens(self) -> None:
        for sql in ("x'00'", "zeroblob(116)", "substr(body, 1, 115) || x'00'"):
            with self.subTest(sql):
                self.setUp()
                self.change(f"UPDATE slot SET body = CAST({sql} AS BLOB) WHERE number = 2")
                self.assert_refused("damaged slot 2")

    def test_refuses_the_wrong_key(self) -> None:
        self.key_file.write_bytes(bytes(32))
        self.assert_refused("wrong key", "intact")
        self.key_file.write_bytes(bytes(33))
        self.assert_refused("wrong key", "32 bytes")
        self.key_file.unlink()
        self.assert_refused("No such file")

    def test_refuses_a_damaged_header(self) -> None:
        self.change("UPDATE store SET header = zeroblob(128)")
        self.assert_refused("header", "does not open")

    def test_refuses_the_header_of_other_slots(self) -> None:
        self.change("DELETE FROM slot WHERE number = 2")
        self.assert_refused("header", "slots")

    def test_refuses_a_damaged_row(self) -> None:
        for column in ("metadata", "secret"):
            with self.subTest(column):
                self.setUp()
                self.change(f"UPDATE credential SET {column} = zeroblob(length({column}))")
                self.assert_refused("row", column, "does not open")

    def test_refuses_a_row_in_another_place(self) -> None:
        self.change("UPDATE credential SET sequence = 2 WHERE sequence = 1")
        self.assert_refused("row", "does not open")

    def test_refuses_a_longer_row_than_any(self) -> None:
        self.change(f"UPDATE credential SET secret = zeroblob({reader.LONGEST_ROW + 1}) WHERE sequence = 3")
        self.assert_refused("too big")

    def test_refuses_a_removed_row(self) -> None:
        self.change("DELETE FROM credential WHERE sequence = 1")
        self.assert_refused("sum", "1 rows")

    def test_refuses_a_tag_of_another_size(self) -> None:
        self.change("UPDATE credential SET service_tag = substr(service_tag, 1, 15), key_tag = "
                    "CAST(substr(service_tag, 16) || key_tag AS BLOB) WHERE sequence = 3")
        self.assert_refused("row", "16 bytes")

    def test_refuses_a_row_at_an_address_of_others(self) -> None:
        self.change("UPDATE credential SET address = address + 64 WHERE sequence = 3")
        self.assert_refused("row", "address")

    def test_reads_a_row_at_each_of_its_addresses(self) -> None:
        self.change("UPDATE credential SET address = address + 63 WHERE sequence = 3")
        self.assert_printed(self.run_reader("--key-file", str(self.key_file)))

    def test_refuses_rows_out_of_order(self) -> None:
        self.change("PRAGMA journal_mode = DELETE")
        with closing(sqlite3.connect(self.store)) as database:
            sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'credential'"
            (page,), = database.execute(sql)
        store = bytearray(self.store.read_bytes())
        pointers = (page - 1) * 4096 + 8
        store[pointers:pointers + 4] = store[pointers + 2:pointers + 4] + store[pointers:pointers + 2]
        self.store.write_bytes(store)
        self.assert_refused("order")

    def test_refuses_two_rows_of_one_credential(self) -> None:
        self.change("INSERT INTO credential SELECT address + 1, service_tag, key_tag, sequence, metadata, "
                    "secret FROM credential LIMIT 1")
        self.assert_refused("the same tags")

    def test_refuses_rows_of_another_sum(self) -> None:
        message = bytearray.fromhex(VECTORS["header"]["message"])
        message[24] ^= 1
        self.change("UPDATE store SET header = ?", sealed_header(bytes(message)))
        self.assert_refused("sum", "not those")

    def test_refuses_a_header_of_another_size(self) -> None:
        message = bytes.fromhex(VECTORS["header"]["message"])
        self.change("UPDATE store SET header = ?", sealed_header(message + b"\0"))
        self.assert_refused("header", "88 bytes")

    def test_refuses_the_rows_of_another_state(self) -> None:
        self.change("UPDATE store SET header = ?", bytes.fromhex(VECTORS["emptyHeader"]))
        self.change("DELETE FROM credential WHERE sequence = 3")
        self.assert_refused("row", "sequence")


class Damage(unittest.TestCase):
    """Faults inside sealed messages, which only the owner of the key could create."""

    def assert_refused(self, message: bytes) -> None:
        with self.assertRaises(ValueError):
            reader.parse_metadata(message)

    def test_metadata_cut_short_or_followed_by_something(self) -> None:
        for vector in VECTORS["rows"]:
            message = bytes.fromhex(vector["metadataMessage"])
            for size in range(len(message)):
                with self.subTest(size):
                    self.assert_refused(message[:size])
            self.assert_refused(message + b"\0")

    def test_metadata_with_wrong_flags(self) -> None:
        plain, full = (bytes.fromhex(row["metadataMessage"]) for row in VECTORS["rows"])
        for flags in (4, 16, 1 << 31):
            self.assert_refused(reader.u32(flags) + plain[4:])
        for flags in (0, 1, 2):
            self.assert_refused(reader.u32(flags) + full[4:])

    def test_fields_that_break_the_format(self) -> None:
        def field(tag: int, value: bytes = b"") -> bytes:
            return reader.u32(tag) + reader.u32(len(value)) + value

        greatest = field(1, bytes(32760))
        self.assertEqual(reader.parse_fields(greatest), {1: bytes(32760)})
        for wrong in (b"", field(0), field(2) + field(2), field(2) + field(1), field(1, b"cut")[:-1],
                      field(1)[:-1], field(1) + b"\0", greatest + field(2)):
            with self.subTest(wrong[:40]), self.assertRaises(ValueError):
                reader.parse_fields(wrong)
            with self.subTest(wrong[:40]), self.assertRaises(ValueError):
                reader.split_secret(b"secret" + wrong + reader.u32(len(wrong)))
        for wrong in (b"", b"\0\0\0", b"secret" + reader.u32(7), b"secret" + b"\xff" * 4):
            with self.subTest(wrong), self.assertRaises(ValueError):
                reader.split_secret(wrong)

    def test_metadata_with_unsorted_attributes(self) -> None:
        full = bytes.fromhex(VECTORS["rows"][1]["metadataMessage"])
        self.assert_refused(full.replace(b"host", b"post"))
        self.assert_refused(full.replace(b"host", b"port"))

    def test_metadata_that_no_save_leaves(self) -> None:
        def message(service="s", account="", label="", attributes=()) -> bytes:
            texts = b"".join(map(reader.text, (service, account, label)))
            pairs = b"".join(reader.text(name) + reader.text(value) for name, value in attributes)
            return reader.u32(1) + bytes(24) + texts + reader.u32(len(attributes)) + pairs

        many = [(f"{number:05}", "") for number in range(60_000)]
        reader.parse_metadata(message("s" * 1024, "a" * 1024, "\u00e9" * 512, many[:64]))
        reader.parse_metadata(message(attributes=[("\u00e9" * 128, "")]))
        for fields in (
            {"service": ""}, {"service": "a\x1b[31m"}, {"account": "a\nb"}, {"label": "a\x9b"},
            {"service": "s" * 1025}, {"account": "a" * 1025}, {"label": "\u00e9" * 513},
            {"attributes": many}, {"attributes": many[:65]}, {"attributes": [("", "a")]},
            {"attributes": [("\u0085", "a")]}, {"attributes": [("\u00e9" * 129, "a")]},
            {"attributes": [("a", "a" * 1025)]},
            {"attributes": [(name, "a" * 1024) for name, _ in many[:16]]},
        ):
            with self.subTest(str(fields)[:60]):
                self.assert_refused(message(**fields))

    def test_header_with_numbers_of_no_change(self) -> None:
        rest = bytes.fromhex(VECTORS["header"]["message"])[16:]
        for sequence, count, right in (
            (2, 2, True), ((1 << 63) - 1, 2, True), (1, 2, False), (1 << 63, 2, False),
            ((1 << 64) - 1, (1 << 64) - 1, False),
        ):
            sealed = sealed_header(reader.u64(sequence) + reader.u64(count) + rest)
            with self.subTest(sequence=sequence, count=count):
                if right:
                    reader.open_header(KEYS[3], STORE_ID, sealed)
                else:
                    with self.assertRaisesRegex(ValueError, "out of range"):
                        reader.open_header(KEYS[3], STORE_ID, sealed)

    def test_wrong_padding(self) -> None:
        right = b"secret" + bytes(54) + reader.u32(6)
        self.assertEqual(reader.unpadded(right), b"secret")
        for wrong in (b"secret" + bytes(118) + reader.u32(6), right[:-4] + reader.u32(61),
                      right[:-4] + reader.u32(5), right[:-4] + b"\xff" * 4):
            with self.subTest(wrong), self.assertRaises(ValueError):
                reader.unpadded(wrong)

    def test_slot_out_of_limits(self) -> None:
        for kind, passes, memory, right in (
            (1, 0, 0, True), (1, 1, 0, False), (1, 0, 8, False), (3, 1, 8, True),
            (0, 17, 0, True), (1 << 31, 17, 0, True),
            (2, 1, 8, True), (2, 16, 1 << 20, True), (2, 0, 8, False), (2, 17, 8, False),
            (2, 1, 7, False), (2, 1, (1 << 20) + 1, False),
        ):
            body = b"".join(map(reader.u32, (kind, passes, memory))) + bytes(88)
            checksum = blake2b(STORE_ID + reader.u32(7) + body, digest_size=16).digest()
            with self.subTest(kind=kind, passes=passes, memory=memory):
                if right:
                    reader.check_slot(STORE_ID, 7, body + checksum)
                else:
                    with self.assertRaisesRegex(ValueError, "kind|passes"):
                        reader.check_slot(STORE_ID, 7, body + checksum)

    def test_slot_of_an_unknown_kind_and_of_any_size(self) -> None:
        for size, right in ((15, False), (19, False), (20, True), (4096, True), (4097, False)):
            start = reader.u32(3) + bytes(max(size - 20, 0))
            body = start + blake2b(STORE_ID + reader.u32(7) + start, digest_size=16).digest()
            body = body[:size]
            with self.subTest(size):
                if right:
                    reader.check_slot(STORE_ID, 7, body)
                    with self.assertRaisesRegex(ValueError, "checksum"):
                        reader.check_slot(STORE_ID, 8, body)
                else:
                    with self.assertRaisesRegex(ValueError, "20 to 4096"):
                        reader.check_slot(STORE_ID, 7, body)

    def test_slots_that_cost_too_much_together(self) -> None:
        for count, passes, memory, right in (
            (8, 1, 8, True), (9, 1, 8, False), (1, 16, 1 << 20, True), (2, 8, 1 << 20, True),
            (2, 9, 1 << 20, False),
        ):
            slots = [(0, b"".join(map(reader.u32, (2, passes, memory))) + bytes(104))] * count
            with self.subTest(count=count, passes=passes, memory=memory):
                if right:
                    reader.check_total_cost(slots)
                else:
                    with self.assertRaisesRegex(ValueError, "together"):
                        reader.check_total_cost(slots)

    def test_sequence_that_is_not_from_a_change(self) -> None:
        row = stored_row(VECTORS["rows"][0])
        for sequence in (0, -1):
            with self.subTest(sequence), self.assertRaises(ValueError):
                reader.open_row(KEYS, STORE_ID, (*row[:3], sequence, *row[4:]))


if __name__ == "__main__":
    unittest.main()
