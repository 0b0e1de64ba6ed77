"""A test with real nodes of etcd and a kist-etcd. KIST_ETCD names the program of kist."""

import os
import shutil
import subprocess
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

    def wait_for(self, what, is_there):
        deadline = time.monotonic() + 60
        while not is_there():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.2)

    def wait_for_head(self, *heads):
        self.wait_for("the head", lambda: self.head().get("head", "") in heads)

    def kill_at_each(self, calls, process, attempt):
        """Repeats an attempt that kills a process: at the first call of each name in each thread, at the second, and so on.

        A last round kills it when any thread makes its first call, its second, and so on; also a thread that started later.
        The attempt gets a function that kills a process during some work, and returns whether the work was done. It is
        repeated until the work was done twice in a row.
        """
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
        interrupted, runs = set(), 0
        for call in calls:
            for thread in [*range(threads), None]:
                number, completed = 1, 0
                while completed < 2:
                    runs += 1
                    if attempt(lambda process, work: self.end_at(process, thread, call, number, work)):
                        completed += 1
                    else:
                        completed = 0
                        interrupted.add(call)
                    number += 1
        self.assertEqual(interrupted, set(calls))
        print(runs, "runs", end=" ")

    def end_at(self, process, thread, call, number, work):
        """Kills a process at a system call of a thread during some work, or after it; returns the result of the work."""
        tracer = self.trace(process, thread, ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"])
        try:
            return work()
        finally:
            process.kill()
            process.wait(timeout=30)
            tracer.wait(timeout=30)
            tracer.stderr.close()

    def trace(self, process, thread, options):
        """Starts strace for a thread; for `None`, for all threads, also later ones."""
        for _ in range(10):
            threads = sorted(map(int, os.listdir(f"/proc/{process.pid}/task")))
            traced = ["-f", "-p", str(process.pid)] if thread is None else ["-p", str(threads[min(thread, len(threads) - 1)])]
            tracer = subprocess.Popen(["strace", *traced, "-o", "/dev/null", *options], stderr=subprocess.PIPE, text=True)
            if "attached" in tracer.stderr.readline():
                return tracer
            # The thread has ended.
            tracer.wait(timeout=30)
            tracer.stderr.close()
        self.fail("strace cannot attach to the process")

    def need_root(self):
        if os.geteuid() != 0:
            if "CI" in os.environ:
                raise RuntimeError("these tests need root")
            self.skipTest("these tests need root")
