"""What docs/cluster-protocol.md promises, by kist-etcd with real nodes of etcd on loopback: `make test-cluster`."""

import base64
import concurrent.futures
import os
import signal
import time
import unittest

from cluster_test import ClusterTest
from etcd_nodes import PREFIX, change, encoded, for_each_version, make_certificate, openssl, row


class OneNode(ClusterTest):
    def test_a_commit_is_made_if_the_head_is_the_expected_one(self):
        self.assertIsNone(self.head()["head"])
        position = self.commit(1, None, {row(7): encoded(b"row")})
        head = self.head()
        self.assertEqual((head["head"], head["position"]), (encoded(b"head 1"), position))
        names = [row(7), "roster/0000000000000001", "00000001/log/0000000000000001"]
        reply = self.adapter.call(op="records", names=names)
        self.assertEqual(reply["records"], [encoded(b"row"), None, encoded(b"head 1")])
        for wrong in [None, encoded(b"head 0"), encoded(b"head 1\0")]:
            reply = self.adapter.call(**change(2, wrong, {row(8): encoded(b"x")}, [row(7)]))
            self.assertEqual(reply, {"ok": True, "committed": False})
        self.assertEqual(self.head()["head"], encoded(b"head 1"))
        self.assertEqual(self.adapter.call(op="records", names=[row(7), row(8)])["records"], [encoded(b"row"), None])

    def test_a_commit_can_move_to_another_generation(self):
        self.commit(1, None)
        move = {"op": "commit", "expected": {"generation": 1, "head": encoded(b"head 1")},
                "puts": {"00000002/head": encoded(b"head 2"), "roster/0000000000000001": encoded(b"r")},
                "deletes": ["00000001/head"]}
        self.assertIs(self.adapter.call(**move)["committed"], True)
        self.assertIs(self.adapter.call(**move)["committed"], False)
        self.assertIs(self.adapter.call(**change(2, encoded(b"head 1")))["committed"], False)
        self.assertEqual(self.head(2)["head"], encoded(b"head 2"))

    def test_one_of_many_commits_with_the_same_head_is_made(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for start in range(0, 200, 8):
                before = self.head()["head"]
                replies = list(pool.map(
                    lambda number: self.adapter.call(**change(number, before)), range(start + 1, start + 9)))
                self.assertEqual(sum(reply["committed"] for reply in replies), 1)

    def test_limits_are_those_of_the_protocol(self):
        self.put(*[row(first) for first in range(128)], data=bytes(8192))
        self.put(row(1), data=bytes(1 << 20))
        reply = self.adapter.call(op="commit", puts={row(9, 9): encoded(bytes((1 << 20) + 1))}, deletes=[])
        self.assertEqual((reply["error"]["code"], reply["error"]["outcome"]), ("tooLarge", "unchanged"))
        self.assertEqual(self.adapter.call(op="records", names=[row(9, 9)])["records"], [None])
        self.put(row(2, 2), data=bytes(1))
        reply = self.adapter.call(op="records", names=[row(1), row(2, 2)])
        self.assertEqual(reply["error"]["code"], "tooLarge")
        for first in range(2, 8):
            self.put(row(first), data=bytes(1 << 20))
        # Above the 4 MiB of a message of gRPC.
        reply = self.adapter.call(op="records", names=[row(first) for first in range(1, 8)])
        self.assertEqual(reply["error"]["code"], "tooLarge")

    def test_a_list_goes_on_page_by_page_at_one_position(self):
        names = [row(7, last) for last in range(1, 7)]
        for name in names:
            self.put(name, data=bytes(900 << 10))
        self.put(row(6), row(8), row(7, 3, generation=2))
        keys, request = [], {"op": "list", "generation": 1, "firstByte": 7}
        while True:
            reply = self.adapter.call(**request)
            keys += [found["key"] for found in reply["rows"]]
            if reply["isLast"]:
                break
            request |= {"after": keys[-1], "position": reply["position"]}
            # A later change is not in the pages that follow.
            self.put(row(7, 9), deletes=[row(7, 6)])
        self.assertEqual([f"00000001/row/{key}" for key in keys], names)
        for first in [0, 255]:
            self.put(row(first, first))
            reply = self.adapter.call(op="list", generation=1, firstByte=first)
            self.assertEqual([found["key"] for found in reply["rows"]], [row(first, first)[13:]])

    def test_changes_are_each_commit_once_without_its_log_entry(self):
        start = self.head()["position"]
        positions = [self.commit(1, None, {row(7): encoded(b"1")}),
                     self.commit(2, encoded(b"head 1"), (), [row(7), row(8)])]
        event = self.watch(1, start)
        first, second = event(), event()
        self.assertEqual([first["position"], second["position"]], positions)
        self.assertEqual(first["puts"], {"00000001/head": encoded(b"head 1"), row(7): encoded(b"1")})
        # The deletion of an absent record is not a write.
        self.assertEqual(second["deletes"], [row(7)])
        self.assertEqual(self.watch(1, positions[0])(), second)

    def test_changes_are_those_of_one_generation_and_of_the_rosters(self):
        event = self.watch(1, self.head()["position"])
        for name in [row(1), "roster/0000000000000001", row(1, generation=2), "seen/" + "00" * 16, row(2)]:
            self.put(name)
        self.put(row(3), row(3, generation=2))
        names = [list(event()["puts"]) for _ in range(4)]
        self.assertEqual(names, [[row(1)], ["roster/0000000000000001"], [row(2)], [row(3)]])

    def test_changes_that_catch_up_have_no_gaps_with_large_commits(self):
        start = self.head()["position"]
        # Each commit of 1 MiB in 8 records is more than half a fragment of etcd.
        for number in range(8):
            self.put(*[row(number, last) for last in range(8)], data=bytes([number]) * (128 << 10))
        event = self.watch(1, start)
        for number in range(8):
            puts = event()["puts"]
            self.assertEqual(sorted(puts), [row(number, last) for last in range(8)])
            self.assertTrue(all(base64.b64decode(data)[0] == number for data in puts.values()))

    def test_compacted_history_is_reported(self):
        first = self.put(row(7, 1))
        second = self.put(row(7, 2))
        self.put(row(7, 3))
        self.nodes.etcdctl("compaction", second)
        self.assertEqual(self.watch(1, "0")(), {"event": "compacted"})
        reply = self.adapter.call(op="list", generation=1, firstByte=7, position=first)
        self.assertEqual(reply, {"ok": True, "compacted": True})
        self.assertEqual(
            len(self.adapter.call(op="list", generation=1, firstByte=7, position=second)["rows"]), 2)
        self.assertEqual(list(self.watch(1, second)()["puts"]), [row(7, 3)])

    def test_keys_of_others_are_not_seen(self):
        event = self.watch(1, self.head()["position"])
        for key in ["other", PREFIX + "other", PREFIX[:-1] + "0", PREFIX + "00000001/row/07"]:
            self.nodes.etcdctl("put", key, "x")
        self.put(row(7))
        self.assertEqual(list(event()["puts"]), [row(7)])
        self.assertEqual(len(self.adapter.call(op="list", generation=1, firstByte=7)["rows"]), 1)

    def test_a_node_that_is_killed_is_unavailable_and_comes_back(self):
        self.commit(1, None)
        event = self.watch(1, self.head()["position"])
        self.nodes.kill(0)
        self.assertEqual(event()["error"]["code"], "unavailable")
        reply = self.adapter.call(**change(2, encoded(b"head 1")))
        # Without a connection, nothing can have been sent.
        self.assertEqual((reply["error"]["code"], reply["error"]["outcome"]), ("unavailable", "unchanged"))
        self.nodes.start(0)
        self.wait_for_head(encoded(b"head 1"))
        self.commit(2, encoded(b"head 1"))
        # Not at each attempt.
        lines = [line for line in self.adapter.log_text().splitlines() if " failed: " in line or " answers again" in line]
        self.assertEqual(len(lines), 2, lines)
        self.assertIn(" failed: unavailable", lines[0])
        self.assertIn("answers again", lines[1])

    def test_a_node_that_is_paused_is_unavailable_within_3_seconds(self):
        self.commit(1, None)
        self.nodes.kill(0, signal.SIGSTOP)
        try:
            start = time.monotonic()
            reply = self.adapter.call(**change(2, encoded(b"head 1")))
            self.assertEqual((reply["error"]["code"], reply["error"]["outcome"]), ("unavailable", "unknown"))
            self.assertLess(time.monotonic() - start, 6)
        finally:
            self.nodes.kill(0, signal.SIGCONT)
        self.wait_for_head(encoded(b"head 1"), encoded(b"head 2"))

    def wait_for_log(self, text):
        deadline = time.monotonic() + 30
        while text not in self.adapter.log_text():
            self.assertLess(time.monotonic(), deadline, self.adapter.log_text())
            time.sleep(0.2)

    def test_a_replaced_certificate_is_used_and_one_near_its_end_is_reported(self):
        make_certificate(self.nodes.certificates, "client", days=5)
        self.wait_for_log("ends within")
        self.assertIn("the certificate of this machine ends within", "".join(self.head()["warnings"]))
        self.commit(1, None)

    def test_a_new_key_is_used_only_with_its_certificate(self):
        openssl(self.nodes.certificates, "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "client.key")
        reason = "do not belong together"
        self.wait_for_log(reason)
        # kist-etcd connects again to a node that failed, with the old pair.
        self.nodes.kill(0)
        self.nodes.start(0)
        self.nodes.wait_for(0)
        self.commit(1, None)
        self.assertEqual(self.adapter.log_text().count(reason), 1)
        make_certificate(self.nodes.certificates, "client")
        self.wait_for_log("the certificates were replaced")
        self.commit(2, encoded(b"head 1"))

    def test_a_client_that_needs_one_watch_too_many_is_busy(self):
        last = int(self.commit(1, None))
        def follow(after):
            connection, reply = self.adapter.changes(1, str(after))
            self.addCleanup(connection.close)
            return connection, reply
        shared, reply = follow(last)
        self.assertTrue(reply["ok"])
        for _ in range(7):
            own, reply = follow(last - 1)
            self.assertTrue(reply["ok"])
        self.assertEqual(follow(last - 1)[1]["error"]["code"], "busy")
        self.assertTrue(follow(last)[1]["ok"])
        own.close()
        deadline = time.monotonic() + 30
        while not follow(last - 1)[1]["ok"]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.commit(2, encoded(b"head 1"))
        self.assertEqual(shared.read()["event"], "commit")

    def test_known_faults_of_the_version_are_reported(self):
        self.wait_for_log("with known faults")
        self.assertIn("with known faults", "".join(self.head()["warnings"]))

    def test_a_client_with_a_certificate_of_another_authority_gets_nothing(self):
        directory = self.directory + "/other"
        os.makedirs(directory)
        openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", "client.key", "-out", "client.crt", "-days", "5", "-subj", "/CN=other")
        self.commit(1, None)
        for name in ["client.key", "client.crt"]:
            os.replace(f"{directory}/{name}", f"{self.nodes.certificates}/{name}")
        self.adapter.stop()
        self.adapter = self.start_adapter()
        self.assertEqual(self.head()["error"]["code"], "unavailable")

    def test_the_certificates_of_the_system_are_not_needed(self):
        self.need_root()
        without = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /etc/ssl && exec "$@"', "sh"]
        adapter = self.start_adapter(name="without", words=without)
        self.assertEqual(os.listdir(f"/proc/{adapter.process.pid}/root/etc/ssl"), [])
        self.assertEqual(adapter.call(**change(1, None))["committed"], True)

    def test_a_second_adapter_at_the_same_socket_ends(self):
        with self.assertRaisesRegex(RuntimeError, "another kist-etcd"):
            path = self.adapter.path
            os.rename(path, path + ".kept")
            try:
                self.start_adapter()
            finally:
                os.rename(path + ".kept", path)


class SmallQuota(ClusterTest):
    options = ("--quota-backend-bytes", str(16 << 20))

    def test_a_full_database_is_full_and_changes_nothing(self):
        rows = {row(1, number): encoded(os.urandom(1 << 20)) for number in range(40)}
        for name, text in rows.items():
            reply = self.adapter.call(op="commit", puts={name: text}, deletes=[])
            # etcd may make the commit with which it notices that the quota is used up, and answer with an error.
            made = [text] if reply["ok"] else [None]
            self.assertTrue(self.adapter.call(op="records", names=[name])["records"] == made, reply.get("error"))
            if not reply["ok"]:
                break
        self.assertEqual((reply["error"]["code"], reply["error"]["outcome"]), ("full", "unchanged"))
        self.assertIn("`etcdctl alarm disarm`", "".join(self.head()["warnings"]))


def load_tests(loader, _, pattern):
    return for_each_version(loader, [OneNode, SmallQuota])


if __name__ == "__main__":
    unittest.main(verbosity=2)
