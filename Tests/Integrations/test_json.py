"""The JSON that the programs print, checked against docs/kist.schema.json."""

import json
import re
import subprocess
import unittest
from pathlib import Path

from jsonschema import Draft202012Validator
from world import PROGRAMS, IntegrationTest

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/kist.schema.json").read_text())
# These have --json only for their errors.
ERRORS_ONLY = {"kist run", "kist inject"}
# The commands of kistd that its usage names.
COMMANDS = set(re.findall("^ {7}kistd ([a-z-]+) ", subprocess.run(
    [PROGRAMS / "kistd", "--help"], capture_output=True, text=True, check=True).stdout, re.M))


def described(*words):
    end = subprocess.run([PROGRAMS / words[0], *words[1:], "--experimental-dump-help"], capture_output=True, check=True)
    return json.loads(end.stdout)["command"]


def has_json(tree):
    """Whether a command, or one of its own commands, has the option --json."""
    return any(
        name["name"] == "json" for entry in tree["arguments"] for name in entry.get("names", [])
    ) or any(has_json(command) for command in tree.get("subcommands", []))


def validate(name, text):
    """Checks a line against a definition; fails with the line and the difference."""
    Draft202012Validator(SCHEMA | {"anyOf": [{"$ref": f"#/$defs/{name}"}]}).validate(json.loads(text))


class TheSchema(unittest.TestCase):
    def test_is_a_valid_schema(self):
        Draft202012Validator.check_schema(SCHEMA)

    def test_allows_no_member_that_it_does_not_describe(self):
        def objects(value):
            if isinstance(value, dict):
                if "properties" in value:
                    yield value
                for member in value.values():
                    yield from objects(member)
            elif isinstance(value, list):
                for element in value:
                    yield from objects(element)

        found = list(objects(SCHEMA))
        self.assertGreater(len(found), 20)
        for value in found:
            self.assertIs(value["additionalProperties"], False, value)

    def test_has_every_command_that_prints_json(self):
        commands = {"kist " + tree["commandName"] for tree in described("kist")["subcommands"] if has_json(tree)}
        commands |= {f"kistd {name}" for name in COMMANDS if has_json(described("kistd", name))}
        # This one always prints JSON.
        commands.add("kistd keyring-items")
        names = {name for name in SCHEMA["$defs"] if name.startswith(("kist-", "kistd-"))}
        self.assertEqual(names, {command.replace(" ", "-", 1) for command in commands - ERRORS_ONLY})

    def test_describes_the_json_in_the_recorded_cases(self):
        count = 0
        for file in (ROOT / "Tests/KistCommandsTests/Cases").glob("*.txt"):
            command = ""
            for line in file.read_text().splitlines():
                if line.startswith("$ "):
                    command = line.split()[1]
                elif line.startswith('! {"'):
                    validate("error", line[2:])
                elif line.startswith('> {"') and f"kist-{command}" in SCHEMA["$defs"]:
                    validate(f"kist-{command}", line[2:])
                    count += 1
        self.assertGreater(count, 20)


class Output(IntegrationTest):
    def prints(self, *words, lines=1, fails=None, input=""):
        """Runs a command with --json, and checks its lines of output; returns them as objects."""
        end = self.run_(*words, "--json", input=input, fails=fails)
        found = end.stdout.splitlines()
        self.assertGreaterEqual(len(found), lines, f"{words}: {end.stderr}")
        for line in found:
            validate("-".join(words[:2]), line)
        return [json.loads(line) for line in found]

    def fails(self, *words, code, input="", **env):
        end = self.run_(*words, "--json", input=input, fails=True, **env)
        # A warning of kistd may be before the error, and is not JSON.
        validate("error", end.stderr.splitlines()[-1])
        error = json.loads(end.stderr.splitlines()[-1])
        self.assertEqual(error["code"], code)
        return error

    def test_of_commands_on_credentials_is_described(self):
        self.prints("kist", "save", "s", "alice", "--label", "a label", "--attribute", "kind=token", "--expires-in", "7d",
                    input="hunter2")
        self.prints("kist", "save", "binary", input="\0")
        self.assertEqual(self.prints("kist", "load", "s", "alice")[0]["secret"], "hunter2")
        self.assertEqual(self.prints("kist", "load", "binary")[0]["secretBase64"], "AA==")
        self.prints("kist", "list", lines=2)
        self.prints("kist", "export", "file")
        for line in (self.world.home / "file").read_text().splitlines():
            validate("kist-export", line)
        self.prints("kist", "import", "netrc", "-", "--yes", input="machine a login b password c\nmachine d login e\n", lines=2)
        self.prints("kist", "delete", "s", "alice")
        self.prints("kist", "delete", "s", "alice")

    def test_of_a_watch_is_described(self):
        with subprocess.Popen(["kist", "watch", "s", "--json"], env=self.world.env, stdout=subprocess.PIPE, text=True) as watch:
            self.addCleanup(watch.terminate)
            # The first changes may come before the watch begins.
            events = set()
            while events != {"saved", "deleted"}:
                self.run_("kist", "save", "s", input="x")
                self.run_("kist", "delete", "s")
                line = watch.stdout.readline()
                validate("kist-watch", line)
                events.add(json.loads(line)["event"])
            watch.terminate()

    def test_of_commands_on_the_storage_is_described(self):
        self.prints("kist", "status")
        self.prints("kist", "slots")
        self.prints("kist", "passphrase", "set", lines=2, input="a long passphrase\n")
        self.prints("kist", "lock")
        self.prints("kist", "unlock", input="a long passphrase\n")
        self.run_("kist", "save", "s", input="x")
        self.prints("kist", "backup", "copy", input="another passphrase\n")
        self.prints("kist", "audit", lines=5)
        self.prints("kist", "audit", "--verify")
        self.prints("kist", "doctor", lines=3)

    def test_of_the_commands_of_kistd_is_described(self):
        self.run_("kist", "save", "s", input="x")
        self.assertIn("error", self.prints("kistd", "probe")[0])
        self.world.stop_kistd()
        self.assertEqual(self.prints("kistd", "probe")[0]["storage"], "encrypted-file")
        self.assertEqual(self.prints("kistd", "fsck")[0]["state"], "whole")
        self.assertEqual(self.prints("kistd", "fsck", "--salvage", "copies")[0]["copied"], 1)
        key = self.world.home / ".local/state/kist/key"
        key.rename(key.with_name("elsewhere"))
        self.assertEqual(self.prints("kistd", "fsck")[0]["state"], "locked")
        key.with_name("elsewhere").rename(key)
        store = self.world.home / ".local/share/kist/credentials.db"
        with open(store, "r+b") as file:
            # SQLite reads the number of pages here.
            file.seek(28)
            file.write(b"\0\0\0\1")
        self.assertEqual(self.prints("kistd", "fsck", fails=True)[0]["state"], "damaged")

    def test_of_the_commands_of_kistd_that_change_the_store_is_described(self):
        passphrase, backup = "a long passphrase\n", "another passphrase\n"
        self.run_("kist", "save", "s", input="x")
        self.run_("kist", "passphrase", "set", input=passphrase)
        self.run_("kist", "backup", "copy", input=backup)
        self.world.stop_kistd()
        added = self.prints("kistd", "key-file", "add", "--key-file", self.world.home / "second", input=passphrase)[0]
        self.assertEqual(added["keyFile"], str(self.world.home / "second"))
        self.fails("kistd", "rekey", code="badRequest")
        rekeyed = self.prints("kistd", "rekey", "--drop-others")[0]
        self.assertEqual((rekeyed["count"], rekeyed["hasPassphrase"]), (1, False))
        self.assertGreater(rekeyed["dropped"], 0)
        self.assertTrue(Path(rekeyed["oldKeyFile"]).is_file())
        self.assertEqual(self.prints("kistd", "restore", "--verify", "copy", input=backup)[0], {"file": "copy", "count": 1})
        restored = self.prints("kistd", "restore", "copy", "--data", "new", input=backup)[0]
        self.assertEqual(restored["store"], "new/credentials.db")
        self.fails("kistd", "restore", "copy", code="conflict", input=backup)
        self.fails("kistd", "key-file", "remove", code="badRequest")
        done = self.prints("kistd", "migrate", "--to", "encrypted-file")[0]
        self.assertEqual((done["isInUse"], done["count"], done["unchecked"]["code"]), (True, 0, "unavailable"))
        self.fails("kistd", "migrate", "--to", "libsecret", code="unavailable")

    def test_of_errors_has_one_shape_in_both_programs(self):
        self.run_("kist", "save", "s", input="x")
        self.fails("kist", "load", "missing", code="notFound")
        self.assertIsNone(self.fails("kist", "delete", "t", "--if-revision", "x.1", code="conflict")["current"])
        self.assertIn("current", self.fails("kist", "save", "s", "--if-absent", code="conflict", input="y"))
        self.fails("kist", "list", "--nonsense", code="badRequest")
        self.fails("kist", "run", "--env", "A=kist://missing", code="badRequest")
        self.fails("kist", "inject", code="notFound", input="{{ kist://missing }}")
        self.fails("kistd", "fsck", code="busy")
        self.fails("kistd", "fsck", "--data", "nowhere", code="notFound")
        self.fails("kistd", "probe", "--nonsense", code="badRequest")
        # `kistd probe` prints this error as its result, for `kist doctor`.
        end = self.run_("kistd", "probe", "--json", fails=True, KISTD_LOG_LEVEL="loud")
        validate("kistd-probe", end.stdout)
        self.assertEqual(json.loads(end.stdout)["error"]["code"], "badRequest")
        self.world.stop_kistd()
        self.fails("kist", "status", code="unavailable")


class KeyringOutput(IntegrationTest):
    keyring = True

    def test_of_the_items_of_a_keyring_is_described(self):
        self.run_("secret-tool", "store", "--label", "x", "application", "Python keyring library", input="pw")
        lines = self.run_("kistd", "keyring-items").stdout.splitlines()
        self.assertGreater(len(lines), 0)
        for line in lines:
            validate("kistd-keyring-items", line)
        validate("kistd-probe", self.run_("kistd", "probe", "--json", fails=None).stdout)
        validate("kist-status", self.run_("kist", "status", "--json").stdout)

    def migrate(self, kind, fails=None):
        """Migrates with the data that another kistd does not use; returns the object and the error."""
        end = self.run_("kistd", "migrate", "--to", kind, "--json", fails=fails)
        validate("kistd-migrate", end.stdout)
        if fails:
            validate("error", end.stderr)
        return json.loads(end.stdout), end.stderr

    def test_of_a_migration_is_described(self):
        self.run_("kist", "save", "s", "a", input="x")
        self.world.stop_kistd()
        moved, _ = self.migrate("encrypted-file")
        self.assertEqual((moved["from"], moved["to"], moved["isInUse"], moved["count"]), ("libsecret", "encrypted-file", True, 1))
        self.run_("kistd", "--storage", "libsecret", "--data", "other", "--", "kist", "save", "s", "a", input="y")
        refused, error = self.migrate("libsecret", fails=True)
        self.assertEqual((refused["isInUse"], refused["count"]), (False, 0))
        self.assertEqual(refused["differing"], [{"service": "s", "account": "a"}])
        self.assertEqual(json.loads(error)["code"], "conflict")


if __name__ == "__main__":
    unittest.main()
