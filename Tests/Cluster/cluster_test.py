"""A test with real nodes of etcd and a kist-etcd. KIST_ETCD names the program of kist."""

import os
import shutil
import tempfile
import time
import unittest

from etcd_nodes import VERSIONS, Adapter, Nodes, change, encoded, programs

PROGRAM = os.path.abspath(os.environ["KIST_ETCD"])


class ClusterTest(unittest.TestCase):
    version, count, options = "3.5", 1, ()

    def setUp(self):
        self.programs = programs(self.version)
        if not self.programs:
            self.skipTest(f"{VERSIONS[self.version]} does not name the programs of etcd {self.version}")
        self.directory = tempfile.mkdtemp(prefix="kist-etcd-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.network = self.make_network()
        self.nodes = Nodes(self.programs, self.directory, self.count, self.options, self.network)
        self.addCleanup(self.nodes.stop)
        self.adapter = self.start_adapter()

    def make_network(self):
        """All nodes are on loopback."""
        return None

    def start_adapter(self, order=None, name="cluster", words=()):
        """Starts a kist-etcd that uses the nodes in an order."""
        adapter = Adapter(PROGRAM, self.nodes, order, name, words)
        self.addCleanup(adapter.stop)
        return adapter

    def commit(self, *arguments, **options):
        reply = self.adapter.call(**change(*arguments, **options))
        self.assertIs(reply.get("committed"), True, reply)
        return reply["position"]

    def head(self, generation=1):
        return self.adapter.call(op="head", generation=generation)

    def put(self, *names, data=b"x", deletes=()):
        reply = self.adapter.call(op="commit", puts=dict.fromkeys(names, encoded(data)), deletes=list(deletes))
        self.assertIs(reply.get("committed"), True, reply)
        return reply["position"]

    def watch(self, generation, after):
        connection, reply = self.adapter.changes(generation, after)
        self.addCleanup(connection.close)
        self.assertEqual(reply, {"ok": True})
        return connection.read

    def wait_for_head(self, *heads):
        deadline = time.monotonic() + 30
        while self.head().get("head", "") not in heads:
            self.assertLess(time.monotonic(), deadline, self.head())
            time.sleep(0.2)
