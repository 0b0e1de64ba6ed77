"""Three nodes with faults, each with its own network, while clients change the vault: `make test-cluster`, as root.

No answered commit may be lost, each outcome must be true, and no change may be missing or reported twice.
"""

import base64
import json
import os
import shutil
import signal
import time
import unittest

from cluster_test import ClusterTest
from etcd_nodes import PREFIX, for_each_version
from history import Traffic, check
from network import Network

SLOW_DISK = ["strace", "-D", "-f", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=200000"]


class FaultTest(ClusterTest):
    count = 3

    def make_network(self):
        self.need_root()
        network = Network(self.count + 1)
        self.addCleanup(network.end)
        return network

    def setUp(self):
        super().setUp()
        # A kist-etcd for each node, which it uses first.
        self.adapters = [self.adapter] + [
            self.start_adapter([(first + each) % 3 for each in range(3)], f"adapter{first}") for first in [1, 2]]
        self.traffic = Traffic([lambda index=index: self.adapters[index] for index in range(3)])
        self.addCleanup(self.traffic.end_threads)
        self.traffic.wait_for(20)

    def stored(self):
        """Returns the log, as etcd has it."""
        found = json.loads(self.nodes.etcdctl("get", "--prefix", PREFIX + "00000001/log/", "-w", "json").stdout)
        return {int(base64.b64decode(pair["key"])[-16:], 16): base64.b64decode(pair["value"]) for pair in found.get("kvs", [])}

    def end_traffic(self):
        self.traffic.wait_for(20)
        self.traffic.end()
        check(self.traffic, self.stored())
        print(self.traffic.outcomes(), end=" ", flush=True)


class Faults(FaultTest):
    def test_each_node_is_killed_and_started_again(self):
        for index in [self.nodes.leader(), 0, 1, 2]:
            self.nodes.kill(index)
            self.traffic.wait_for(20)
            self.nodes.start(index)
            self.nodes.wait_for(index)
        self.end_traffic()

    def test_all_nodes_are_killed_at_once(self):
        for index in range(3):
            self.nodes.kill(index)
        time.sleep(2)
        for index in range(3):
            self.nodes.start(index)
        self.end_traffic()

    def test_each_node_is_paused(self):
        for index in [self.nodes.leader(), 0, 1, 2]:
            self.nodes.kill(index, signal.SIGSTOP)
            try:
                self.traffic.wait_for(20)
            finally:
                self.nodes.kill(index, signal.SIGCONT)
        self.end_traffic()

    def test_a_majority_is_paused(self):
        for index in [0, 1]:
            self.nodes.kill(index, signal.SIGSTOP)
        time.sleep(6)
        for index in [0, 1]:
            self.nodes.kill(index, signal.SIGCONT)
        self.end_traffic()

    def test_each_node_is_cut_off_from_all(self):
        for index in [self.nodes.leader(), 0, 1, 2]:
            self.network.isolate(index)
            self.traffic.wait_for(20)
            self.network.heal()
        self.end_traffic()

    def test_a_node_is_cut_off_from_the_other_nodes_only(self):
        leader = self.nodes.leader()
        for cut in [lambda other: [(leader, other), (other, leader)], lambda other: [(leader, other)],
                    lambda other: [(other, leader)]]:
            leader = self.nodes.leader()
            for other in set(range(3)) - {leader}:
                for sender, receiver in cut(other):
                    self.network.cut(sender, receiver)
            self.traffic.wait_for(20)
            self.network.heal()
            self.traffic.wait_for(5)
        self.end_traffic()

    def test_kist_etcd_is_cut_off_from_one_node_in_each_direction(self):
        for index in range(3):
            self.network.cut(3, index)
            self.traffic.wait_for(20)
            self.network.heal()
            self.network.cut(index, 3)
            self.traffic.wait_for(20)
            self.network.heal()
        self.end_traffic()

    def test_kist_etcd_is_cut_off_from_all_nodes(self):
        for sender, receiver in [(3, 0), (3, 1), (3, 2)]:
            self.network.cut(sender, receiver)
        time.sleep(5)
        self.network.heal()
        self.traffic.wait_for(5)
        for index in range(3):
            self.network.cut(index, 3)
        time.sleep(5)
        self.network.heal()
        self.end_traffic()

    def test_the_disk_of_the_leader_is_slow(self):
        leader = self.nodes.leader()
        self.nodes.kill(leader)
        self.nodes.start(leader, SLOW_DISK)
        self.nodes.wait_for(leader)
        self.nodes.etcdctl("move-leader", self.nodes.member(leader), endpoints=[self.nodes.url(self.nodes.leader())])
        self.traffic.wait_for(20)
        self.end_traffic()

    def test_a_node_loses_its_disk_and_is_replaced(self):
        for index in [0, 1]:
            self.nodes.kill(index)
            shutil.rmtree(f"{self.directory}/n{index}")
            # Started as before, the node would be a stranger with a known name: it ends.
            self.nodes.start(index)
            self.assertNotEqual(self.nodes.processes[index].wait(timeout=60), 0)
            others = [self.nodes.url(other) for other in range(3) if other != index]
            self.nodes.retry("member", "remove", self.nodes.member(index), endpoints=others)
            self.traffic.wait_for(5)
            # The nodes must have been connected for five seconds.
            self.nodes.retry(
                "member", "add", f"n{index}", f"--peer-urls={self.nodes.peer_url(index)}", endpoints=others)
            shutil.rmtree(f"{self.directory}/n{index}", ignore_errors=True)
            self.nodes.start(index, options=["--initial-cluster-state", "existing"])
            self.nodes.wait_for(index)
            self.traffic.wait_for(5)
        # One of the two nodes with all data is the new one.
        self.nodes.kill(2)
        self.end_traffic()

    def test_the_leader_is_moved(self):
        for _ in range(10):
            leader = self.nodes.leader()
            self.nodes.etcdctl(
                "move-leader", self.nodes.member((leader + 1) % 3), endpoints=[self.nodes.url(leader)])
            self.traffic.wait_for(5)
        self.end_traffic()

    def test_history_is_compacted_while_watches_resume(self):
        # These resume later, often before the position that was compacted.
        for watcher in self.traffic.watchers[1:]:
            watcher.pause = 0.3
        for number in range(30):
            # Ends the watches at this node.
            self.nodes.kill(number % 3)
            self.nodes.start(number % 3)
            self.traffic.wait_for(3)
            self.nodes.retry("compaction", self.head().get("position", "1"))
        self.end_traffic()
        holes = [len(watcher.holes) for watcher in self.traffic.watchers]
        print("discarded:", holes, end=" ")
        self.assertGreater(sum(holes), 0)


def load_tests(loader, _, pattern):
    return for_each_version(loader, [Faults])


if __name__ == "__main__":
    unittest.main(verbosity=2)
