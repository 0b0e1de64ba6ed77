"""Machines of a vault on real nodes: `make test-cluster`, which builds kistd first."""

import base64
import json
import os
import pathlib

from cluster_test import ClusterTest
from etcd_nodes import for_each_version, row
from machine import Machine, patient_exchange

ROOT = pathlib.Path(__file__).resolve().parents[2]
KISTD = ROOT / ".build/debug/kistd"
MACHINES = ["lighthouse-north", "lighthouse-south"]
SECRETS = ["correct horse battery staple", "incorrect donkey battery staple"]
SERVICE, ACCOUNT, LABEL = "ledger.harbour.example", "mariana.quill", "Quarterly ledger"
ATTRIBUTES = {"department": "north quay office"}
DELETED = "withdrawn.harbour.example"
TEXTS = [*MACHINES, *SECRETS, SERVICE, ACCOUNT, LABEL, *ATTRIBUTES, *ATTRIBUTES.values(), DELETED]


def forms(text):
    """Returns a text in plain, hex, base64 and UTF-16."""
    plain = text.encode()
    # Base64 of a longer text has one of three forms of this one, apart from the characters at both ends.
    parts = [base64.b64encode(bytes(offset) + plain)[(8 * offset + 5) // 6:8 * (offset + len(plain)) // 6] for offset in range(3)]
    return [plain, plain.hex().encode(), plain.hex().upper().encode(), *parts, text.encode("utf-16-le"), text.encode("utf-16-be")]


class MachineTest(ClusterTest):
    def machine(self, name):
        machine = Machine(KISTD, pathlib.Path(self.directory, name), ["--cluster", self.adapter.path])
        self.addCleanup(machine.stop)
        return machine

    def reply(self, machine, operation, **fields):
        stream, lines = connection = machine.connect()
        try:
            return patient_exchange(connection, json.dumps({"op": operation, **fields}).encode() + b"\n")
        finally:
            lines.close()
            stream.close()

    def code(self, machine, operation, **fields):
        """Returns the code of the error of a request for the credential; `None` if it succeeds."""
        return self.reply(machine, operation, service=SERVICE, account=ACCOUNT, **fields).get("error", {}).get("code")

    def request(self, machine, operation, service=SERVICE, **fields):
        reply = self.reply(machine, operation, service=service, account=ACCOUNT, **fields)
        self.assertTrue(reply["ok"], reply)
        return reply

    def load(self, machine, **fields):
        return self.request(machine, "load", **fields)["credential"]["secret"]

    def fresh(self, machine):
        return self.load(machine, maxStale=0)

    def save(self, machine, secret, service=SERVICE):
        self.request(machine, "save", service, secret=secret, label=LABEL, attributes=ATTRIBUTES)

    def wait_for_secret(self, machine, secret):
        self.wait_for("the new secret", lambda: self.load(machine) == secret)


class Disks(MachineTest):
    count = 3

    def found(self, texts):
        """Returns the forms of some texts that are in the files of the nodes."""
        files = [path.read_bytes() for index in range(self.count) for path in pathlib.Path(self.directory, f"n{index}").rglob("*")
                 if path.is_file()]
        self.assertGreaterEqual(len(files), 2 * self.count)
        return [form for text in texts for form in forms(text) if any(form in file for file in files)]

    def test_the_nodes_keep_a_vault_of_two_machines_and_show_no_name_and_no_secret(self):
        first, second = map(self.machine, MACHINES)
        first.administer("init", "--name", MACHINES[0])
        first.start()
        self.save(first, SECRETS[0])
        self.save(first, SECRETS[0], DELETED)
        second.join(first, MACHINES[1])
        second.start()
        self.assertEqual(self.load(second), SECRETS[0])
        self.wait_for("a warning", lambda: "with known faults" in str(self.reply(second, "status")["status"]["vault"]))
        self.save(first, SECRETS[1])
        self.wait_for_secret(second, SECRETS[1])
        self.wait_for("the reports of both machines", lambda: "2 of 2" in first.vault("seen", SERVICE, ACCOUNT))
        first.administer("rotate")
        self.request(first, "delete", DELETED)

        self.nodes.kill(0)
        self.save(second, SECRETS[0])
        self.wait_for_secret(first, SECRETS[0])
        self.nodes.start(0)
        self.nodes.wait_for(0)

        identity = next(line.split()[0] for line in first.vault("members").splitlines() if MACHINES[1] in line)
        removed = first.administer("remove", identity)
        self.assertIn(SERVICE, removed)
        self.wait_for("the removal", lambda: self.code(second, "load") == "denied")

        planted = "planted in the clear"
        self.put(row(1, generation=9), data=b"\n".join(forms(planted)))
        self.nodes.etcdctl("snapshot", "save", f"{self.directory}/n0/snapshot", endpoints=[self.nodes.url(0)])
        for index in range(self.count):
            self.nodes.kill(index)
        self.assertEqual(self.found([planted]), forms(planted))
        self.assertEqual(self.found(TEXTS), [])


class KilledMachine(MachineTest):
    CALLS = ["read", "write", "recvfrom", "sendto", "pread64", "pwrite64", "fdatasync", "getrandom", "futex", "epoll_wait"]

    def test_kistd_is_killed_at_each_call_of_some_system_calls_of_a_save(self):
        self.killed, self.witness = map(self.machine, MACHINES)
        self.killed.administer("init", "--name", MACHINES[0])
        self.killed.start()
        self.latest, self.outcomes = SECRETS[0], set()
        self.save(self.killed, self.latest)
        self.witness.join(self.killed, MACHINES[1])
        self.witness.start()
        self.kill_at_each(self.CALLS, self.killed.process, self.attempt)
        # It was killed before the change was made, after it and before the answer, and after the answer.
        self.assertEqual(self.outcomes, {(False, False), (False, True), (True, True)})

    def attempt(self, kill):
        """Kills a kistd during a save; returns whether the save was answered."""
        new = os.urandom(8).hex()
        is_answered = kill(self.killed.process, lambda: self.is_saved(self.killed, new))
        self.killed.start()
        # Both machines have the same secret: the new one if the save was answered.
        self.wait_for("the same secret", lambda: self.fresh(self.killed) == self.fresh(self.witness))
        found = self.fresh(self.killed)
        self.assertIn(found, [new] if is_answered else [self.latest, new])
        self.outcomes.add((is_answered, found == new))
        self.latest = found
        return is_answered

    def is_saved(self, machine, secret):
        try:
            self.save(machine, secret)
            return True
        except (OSError, ValueError):
            return False


class RestoredSnapshot(MachineTest):
    def setUp(self):
        super().setUp()
        self.first, self.second = map(self.machine, MACHINES)
        self.empty = self.nodes.save_snapshot("empty")
        self.first.administer("init", "--name", MACHINES[0])
        self.first.start()
        self.save(self.first, SECRETS[0])
        self.second.join(self.first, MACHINES[1])
        self.second.start()

    def is_confirmed(self, machine, secret):
        return self.code(machine, "load", maxStale=0) is None and self.load(machine) == secret

    def test_a_vault_goes_on_after_its_newest_state_is_restored(self):
        self.nodes.restore(self.nodes.save_snapshot("newest"))
        self.wait_for("the restored state", lambda: self.is_confirmed(self.first, SECRETS[0]))
        self.save(self.first, SECRETS[1])

    def test_an_older_state_is_refused_until_the_vault_is_put_back_from_the_newest_copy(self):
        self.put_back(self.nodes.save_snapshot("older"))

    def test_a_vault_is_put_back_into_a_cluster_that_lost_it(self):
        self.put_back(self.empty)

    def put_back(self, snapshot):
        self.save(self.first, SECRETS[0])
        self.save(self.first, SECRETS[1])
        self.wait_for_secret(self.second, SECRETS[1])
        self.nodes.restore(snapshot)
        for machine in [self.first, self.second]:
            self.wait_for("the older state", lambda: self.code(machine, "load", maxStale=0) == "corrupt")
            refused = self.reply(machine, "save", service=SERVICE, account=ACCOUNT, secret=SECRETS[0])["error"]
            self.assertEqual((refused["code"], refused["outcome"]), ("corrupt", "unchanged"))
            self.assertEqual(self.load(machine), SECRETS[1])

        self.first.stop()
        self.assertIn("1 credential", self.first.administer("rotate", "--from-copy"))
        self.first.start()
        for machine in [self.first, self.second]:
            self.wait_for("the newest state", lambda: self.is_confirmed(machine, SECRETS[1]))
        self.save(self.second, SECRETS[0])
        self.wait_for_secret(self.first, SECRETS[0])


def load_tests(loader, _, pattern):
    return for_each_version(loader, [Disks, KilledMachine, RestoredSnapshot])
