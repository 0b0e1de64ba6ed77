"""Hosts with a network of their own, between which packets can be dropped. Needs root."""

import subprocess


class Network:
    """Hosts on one bridge, each in its own network namespace."""

    def __init__(self, count):
        self.holders = []
        try:
            # The first namespace has the bridge. It reaches all hosts.
            for _ in range(count + 1):
                self.holders.append(self.new_namespace())
            self.run(None, "ip", "link", "add", "bridge", "type", "bridge")
            self.run(None, "ip", "address", "add", "10.88.0.254/24", "dev", "bridge")
            self.run(None, "ip", "link", "set", "bridge", "up")
            for host in range(count):
                self.run(None, "ip", "link", "add", f"host{host}", "type", "veth", "peer", "name", "eth0",
                         "netns", str(self.holders[host + 1].pid))
                self.run(None, "ip", "link", "set", f"host{host}", "master", "bridge", "up")
                self.run(host, "ip", "address", "add", f"{self.address(host)}/24", "dev", "eth0")
                for device in ["lo", "eth0"]:
                    self.run(host, "ip", "link", "set", device, "up")
        except BaseException:
            self.end()
            raise

    @staticmethod
    def new_namespace():
        """Starts a process that keeps a namespace until its input is closed."""
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        holder.stdout.readline()
        return holder

    @staticmethod
    def address(host):
        return f"10.88.0.{host + 1}"

    def words(self, host):
        """Returns the words that run a command at a host; `None` is the bridge."""
        holder = self.holders[0 if host is None else host + 1]
        return ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]

    def run(self, host, *words):
        subprocess.run([*self.words(host), *words], check=True, capture_output=True, timeout=30)

    def cut(self, sender, receiver):
        """Drops the packets from one host to another; those in the other direction still arrive."""
        self.run(receiver, "iptables", "--append", "INPUT", "--source", self.address(sender), "--jump", "DROP")

    def isolate(self, host):
        """Drops all packets from and to a host."""
        for rule in [["INPUT", "--in-interface"], ["OUTPUT", "--out-interface"]]:
            self.run(host, "iptables", "--append", *rule, "eth0", "--jump", "DROP")

    def heal(self):
        for host in range(len(self.holders) - 1):
            self.run(host, "iptables", "--flush")

    def end(self):
        for holder in self.holders:
            holder.stdin.close()
            holder.wait(timeout=30)
            holder.stdout.close()
