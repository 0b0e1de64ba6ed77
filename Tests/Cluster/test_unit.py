"""The unit of kist-etcd, with etcd on booted Debian 12 and 13: `make test-cluster`, as root."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from etcd_nodes import VAULT, change, encoded, make_authority, make_certificate, programs

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "Tests/Packages"))
from booted import Machine  # noqa: E402

# The trees, and the version of etcd in each release.
SYSTEMS = {"KIST_DEBIAN_12": "3.4", "KIST_DEBIAN_13": "3.5"}
OPTIONS = (f"--vault {VAULT} --endpoint https://127.0.0.1:2379 --ca /home/alice/etcd/ca.crt --cert /home/alice/etcd/client.crt "
           "--key /home/alice/etcd/client.key")
START_ETCD = ("cd ~/etcd; systemd-run --user --quiet --unit=etcd --working-directory=$PWD etcd --data-dir=data --cert-file=node.crt "
              "--key-file=node.key --trusted-ca-file=ca.crt --client-cert-auth --listen-client-urls=https://127.0.0.1:2379 "
              "--advertise-client-urls=https://127.0.0.1:2379 --listen-peer-urls=http://127.0.0.1:2380 "
              "--initial-advertise-peer-urls=http://127.0.0.1:2380 --initial-cluster=default=http://127.0.0.1:2380")


class Unit(unittest.TestCase):
    def start(self, variable):
        """Boots a system that has kist-etcd and etcd, with certificates in the home of alice."""
        etcd = programs(SYSTEMS[variable])
        if not etcd or variable not in os.environ or os.geteuid() != 0:
            if "CI" in os.environ:
                raise RuntimeError(f"{variable}, its etcd or root is missing: run `make test-cluster`")
            self.skipTest(f"needs {variable}, its etcd and root")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="kist-etcd-"))
        self.addCleanup(shutil.rmtree, folder)
        self.certificates = folder / "home/alice/etcd"
        make_authority(self.certificates)
        for name in ["node", "client"]:
            make_certificate(self.certificates, name)
        # Only the files that this target installs; it is built already.
        subprocess.run(["make", "--silent", "install-etcd", f"DESTDIR={folder}", "PREFIX=/usr"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        shutil.copy(f"{etcd}/etcd", folder / "usr/bin")
        self.machine = Machine(os.environ[variable])
        self.addCleanup(self.machine.end)
        self.copy(folder, "usr", "home")
        self.machine.shell(f"mkdir -p ~/.config/kist; echo 'KIST_ETCD_OPTIONS={OPTIONS}' > ~/.config/kist/etcd.env", "alice")
        self.machine.shell(START_ETCD, "alice")
        self.machine.shell("systemctl --user daemon-reload; systemctl --user enable --now --quiet kist-etcd", "alice")

    def copy(self, folder, *names):
        content = subprocess.run(
            ["tar", "--create", "--owner=0", "--group=0", *names], cwd=folder, check=True, capture_output=True).stdout
        subprocess.run(self.machine.words(["tar", "--extract", "--no-overwrite-dir", "-C", "/"], "root"), input=content, check=True)
        self.machine.shell("chown -R alice:alice /home/alice")

    def call(self, **request):
        command = "socat -t 10 - UNIX:$XDG_RUNTIME_DIR/kist/cluster.sock"
        return json.loads(self.machine.shell(f"echo '{json.dumps(request)}' | {command}", "alice"))

    def wait_for_head(self, head):
        """Waits until kist-etcd answers; etcd needs a moment to start."""
        deadline = time.monotonic() + 30
        while True:
            try:
                if self.call(op="head", generation=1).get("head", "") == head:
                    return
            except AssertionError:
                pass  # Nothing listens.
            self.assertLess(time.monotonic(), deadline, self.journal())
            time.sleep(0.2)

    def journal(self):
        return self.machine.shell("journalctl --no-pager --quiet _SYSTEMD_USER_UNIT=kist-etcd.service")

    def show(self, name):
        return self.machine.shell(f"systemctl --user show --value -p {name} kist-etcd", "alice")

    def wait_for(self, name, *values):
        deadline = time.monotonic() + 30
        while self.show(name) not in values:
            self.assertLess(time.monotonic(), deadline, self.journal())
            time.sleep(0.2)

    def test_it_serves_restarts_and_reads_new_certificates(self):
        for variable in SYSTEMS:
            with self.subTest(variable):
                self.start(variable)
                self.wait_for_head(None)
                self.assertTrue(self.call(**change(1, None))["committed"])
                # It starts again, without a command.
                first = self.show("MainPID")
                self.machine.shell(f"kill -KILL {first}")
                self.wait_for_head(encoded(b"head 1"))
                self.assertNotEqual(self.show("MainPID"), first)
                # The certificate is another one soon.
                make_certificate(self.certificates, "client", days=5)
                self.copy(self.certificates.parents[2], "home/alice/etcd/client.crt", "home/alice/etcd/client.key")
                deadline = time.monotonic() + 30
                while "ends within 5 days" not in self.journal():
                    self.assertLess(time.monotonic(), deadline, self.journal())
                    time.sleep(0.5)
                self.assertTrue(self.call(**change(2, encoded(b"head 1")))["committed"])
                self.assertEqual(self.show("MemoryMax"), str(256 << 20))
                self.assertNotIn("thread priority", self.journal())
                self.check_wrong_option()
                self.doCleanups()

    def check_wrong_option(self):
        """A wrong option ends it for good, with a message in the journal."""
        self.machine.shell("sed -i s/2379/x/ ~/.config/kist/etcd.env; systemctl --user restart kist-etcd", "alice")
        self.wait_for("ActiveState", "failed")
        self.assertEqual((self.show("ExecMainStatus"), self.show("NRestarts")), ("64", "0"))
        self.assertIn("a value of --endpoint is not an address of a node of etcd", self.journal())


if __name__ == "__main__":
    unittest.main(verbosity=2)
