"""What an operator meets: ended certificates, wrong clocks, a full quota, a restored snapshot, a killed kist-etcd.

Run with `make test-cluster`, as root.
"""

import os
import pathlib
import subprocess
import time
import unittest

from cluster_test import ClusterTest
from etcd_nodes import change, encoded, for_each_version, make_certificate, row
from test_faults import FaultTest

DAY = 24 * 60 * 60


class Certificates(FaultTest):
    def wait_for_log(self, text):
        deadline = time.monotonic() + 30
        while not all(text in adapter.log_text() for adapter in self.adapters):
            self.assertLess(time.monotonic(), deadline, self.adapter.log_text())
            time.sleep(0.2)

    def assert_no_commit(self):
        made = self.traffic.made()
        reply = self.adapter.call(op="commit", puts={row(200): encoded(b"x")}, deletes=[])
        self.assertEqual(reply["error"]["code"], "unavailable")
        self.assertEqual(self.head()["error"]["code"], "unavailable")
        self.assertEqual(self.traffic.made(), made)

    def test_the_certificate_of_the_machine_ends_and_is_replaced(self):
        make_certificate(self.nodes.certificates, "client", days=0)
        self.wait_for_log("the certificate of this machine has ended")
        self.assert_no_commit()
        make_certificate(self.nodes.certificates, "client")
        self.end_traffic()

    def test_the_certificates_of_the_nodes_end_and_are_replaced(self):
        make_certificate(self.nodes.certificates, "node", days=0)
        time.sleep(1)
        # Connections stay open when a certificate ends. A restart ends them.
        for index in range(3):
            self.nodes.kill(index)
        for index in range(3):
            self.nodes.start(index)
        time.sleep(3)
        self.assert_no_commit()
        make_certificate(self.nodes.certificates, "node")
        self.end_traffic()


class Clocks(FaultTest):
    """The clocks of kist-etcd. Those of etcd cannot be changed like this, because programs in Go ask the kernel directly."""

    def start_adapter(self, order=None, name="cluster", words=()):
        library = f"{self.directory}/wrong_clock.so"
        if not os.path.exists(library):
            source = pathlib.Path(__file__).with_name("wrong_clock.c")
            subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        days = {"cluster": 0, "adapter1": 30, "adapter2": 90, "late": 900, "early": -900}[name]
        return super().start_adapter(
            order, name, [*words, "env", f"LD_PRELOAD={library}", f"CLOCK_OFFSET={days * DAY}"])

    def test_commits_go_on_while_clocks_differ_by_months(self):
        self.traffic.wait_for(50)
        self.end_traffic()

    def test_with_a_clock_outside_the_time_of_the_certificates_all_nodes_are_unavailable(self):
        for name in ["early", "late"]:
            adapter = self.start_adapter(name=name)
            reply = adapter.call(op="commit", puts={row(200): encoded(b"x")}, deletes=[])
            self.assertEqual((reply["error"]["code"], reply["error"]["outcome"]), ("unavailable", "unchanged"))
        self.assertIn("the certificate of this machine has ended", adapter.log_text())
        self.assertEqual(self.adapter.call(op="records", names=[row(200)])["records"], [None])
        self.end_traffic()


class Quota(FaultTest):
    options = ("--quota-backend-bytes", str(24 << 20))

    def test_a_full_quota_is_reported_until_space_is_free_again(self):
        for _ in range(60):
            reply = self.adapter.call(op="commit", puts={row(200): encoded(os.urandom(1 << 20))}, deletes=[])
            if not reply["ok"]:
                break
        self.assertEqual(reply["error"]["code"], "full")
        made = self.traffic.made()
        time.sleep(2)
        self.assertEqual(self.traffic.made(), made)
        # The commands that the error names.
        self.nodes.etcdctl("compaction", self.head()["position"])
        for index in range(3):
            self.nodes.etcdctl("defrag", endpoints=[self.nodes.url(index)])
        self.nodes.etcdctl("alarm", "disarm")
        self.end_traffic()
        self.put(row(200))
        self.assertNotIn("quota", "".join(self.head().get("warnings", [])))


class Snapshot(ClusterTest):
    count = 3

    def test_a_restored_snapshot_is_served_as_it_is(self):
        first = self.commit(1, None, {row(1): encoded(b"kept")})
        snapshot = self.nodes.save_snapshot("snapshot")
        self.commit(2, encoded(b"head 1"), {row(2): encoded(b"lost")})
        last = self.commit(3, encoded(b"head 2"), {row(3): encoded(b"lost")})
        event = self.watch(1, last)
        self.nodes.restore(snapshot)
        self.assertEqual(event()["error"]["code"], "unavailable")
        self.wait_for_head(encoded(b"head 1"))
        self.assertEqual(self.head()["position"], first)
        # A machine that knows a later head cannot commit on it, and gets no page of a lost position.
        self.assertEqual(self.adapter.call(**change(4, encoded(b"head 3"))), {"ok": True, "committed": False})
        reply = self.adapter.call(op="list", generation=1, firstByte=1, position=last)
        self.assertEqual(reply["error"]["code"], "unavailable")
        self.assertEqual(self.adapter.call(op="records", names=[row(1), row(2)])["records"], [encoded(b"kept"), None])
        self.commit(2, encoded(b"head 1"))


class Killed(ClusterTest):
    CALLS = ["read", "write", "epoll_wait", "epoll_ctl"]

    def test_kist_etcd_is_killed_at_each_call_of_some_system_calls_of_a_commit(self):
        self.sequence, self.latest, self.outcomes = 0, None, set()
        self.kill_at_each(self.CALLS, self.adapter.process, self.attempt)
        # It was killed before the commit was made, after it and before the answer, and after the answer.
        self.assertEqual(self.outcomes, {(False, False), (False, True), (True, True)})

    def attempt(self, kill):
        """Kills kist-etcd during a commit; returns whether it was answered."""
        data = encoded(os.urandom(8))
        request = change(self.sequence + 1, self.latest, {row(1): data}, [row(2)])
        new = request["puts"]["00000001/head"]
        reply = kill(self.adapter.process, lambda: self.reply(request))
        self.adapter = self.start_adapter()
        self.wait_for_head(self.latest, new)
        is_made = self.head()["head"] == new
        if reply:
            self.assertEqual(is_made, reply["ok"] and reply["committed"], reply)
        # All writes of the commit, or none.
        log, stored = self.adapter.call(op="records", names=[f"00000001/log/{self.sequence + 1:016x}", row(1)])["records"]
        self.assertEqual((log == new, stored == data), (is_made, is_made))
        self.outcomes.add((bool(reply), is_made))
        if is_made:
            self.sequence, self.latest = self.sequence + 1, new
        return bool(reply)

    def reply(self, request):
        try:
            return self.adapter.call(**request)
        except OSError:
            return None


def load_tests(loader, _, pattern):
    return for_each_version(loader, [Certificates, Clocks, Quota, Snapshot, Killed])


if __name__ == "__main__":
    unittest.main(verbosity=2)
