"""The contract of storages, on vaults that three nodes keep: `make test-cluster`, which builds the tests first."""

import os
import pathlib
import re
import shlex
import subprocess

from cluster_test import PROGRAM, ClusterTest
from etcd_nodes import for_each_version

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ContractTest(ClusterTest):
    count = 3

    def test_a_vault_on_three_nodes_keeps_the_contract_of_storages(self):
        files = self.nodes.certificates
        words = [PROGRAM, "--ca", f"{files}/ca.crt", "--cert", f"{files}/client.crt", "--key", f"{files}/client.key"]
        for index in range(self.count):
            words += ["--endpoint", self.nodes.url(index)]
        adapter = pathlib.Path(self.directory, "adapter")
        adapter.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        adapter.chmod(0o755)
        end = subprocess.run(
            [os.environ.get("SWIFT", "swift"), "test", "--skip-build", "--filter", "SharedContractTests"], cwd=ROOT,
            env={**os.environ, "KIST_ADAPTER": str(adapter)}, capture_output=True, text=True, timeout=1200)
        failures = [line for line in end.stdout.splitlines() if "✘" in line]
        self.assertEqual(end.returncode, 0, "\n".join(failures[:20]) or (end.returncode, end.stdout[-2000:], end.stderr[-2000:]))
        # Two tests ran: the contract, and the contract with watchers.
        self.assertRegex(end.stdout, re.compile(r"Test run with 2 tests in 1 suite.* passed"))
        # The nodes have the vaults.
        vaults = {line.split("/")[2] for line in self.nodes.etcdctl("get", "--prefix", "kist/1/", "--keys-only").stdout.split()}
        self.assertGreater(len(vaults), 20)


def load_tests(loader, _, pattern):
    return for_each_version(loader, [ContractTest])
