"""Nodes of etcd on loopback with mutual TLS, and kist-etcd in front of them, for tests."""

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
import unittest

from network import Network

VAULT = "00112233445566778899aabbccddeeff"
PREFIX = f"kist/1/{VAULT}/"
# The variables that name the directories with the programs of etcd. They are those of Debian 12 and 13.
VERSIONS = {"3.4": "KIST_ETCD_34", "3.5": "KIST_ETCD_35"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def openssl(directory, *arguments):
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True, timeout=60)


def make_authority(directory):
    os.makedirs(directory, exist_ok=True)
    openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", "ca.key", "-out", "ca.crt", "-days", "365", "-subj", "/CN=test authority")


def make_certificate(directory, name, days=365):
    """Writes NAME.crt and NAME.key: for a node on loopback or in a `Network`, and for a client."""
    openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(f"{directory}/{name}.ext", "w") as file:
        addresses = ["127.0.0.1", *map(Network.address, range(3))]
        names = ",".join(f"IP:{address}" for address in addresses)
        file.write(f"subjectAltName={names},DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n")
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{name}.crt", "-days", str(days), "-extfile", f"{name}.ext")


class Nodes:
    """One node, or three: on loopback, or each at a host of a network, which has one more host for clients."""

    def __init__(self, programs, directory, count=1, options=(), network=None):
        self.programs, self.directory, self.options = programs, directory, list(options)
        self.network = network
        self.certificates = f"{directory}/certificates"
        make_authority(self.certificates)
        for name in ["node", "client", "admin"]:
            make_certificate(self.certificates, name)
        self.ports = [(free_port(), free_port()) for _ in range(count)]
        self.processes = [None] * count
        for index in range(count):
            self.start(index)
        try:
            self.retry("endpoint", "health")
        except BaseException:
            self.stop()
            raise

    def address(self, index):
        return self.network.address(index) if self.network else "127.0.0.1"

    def enter(self, host):
        return self.network.words(host) if self.network else []

    def url(self, index):
        return f"https://{self.address(index)}:{self.ports[index][0]}"

    def peer_url(self, index):
        return f"https://{self.address(index)}:{self.ports[index][1]}"

    def peers(self):
        return ",".join(f"n{index}={self.peer_url(index)}" for index in range(len(self.ports)))

    def start(self, index, words=(), options=()):
        """Starts a node, with a command that runs it if there is one."""
        tls = ["--{}cert-file=node.crt", "--{}key-file=node.key", "--{}trusted-ca-file=ca.crt",
               "--{}client-cert-auth"]
        peer = self.peer_url(index)
        with open(f"{self.directory}/n{index}.log", "ab") as log:
            self.processes[index] = subprocess.Popen(
                [*self.enter(index), *words, f"{self.programs}/etcd", "--name", f"n{index}", "--data-dir", f"{self.directory}/n{index}",
                 "--listen-client-urls", self.url(index), "--advertise-client-urls", self.url(index),
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", self.peers(), *[option.format("") for option in tls],
                 *[option.format("peer-") for option in tls], *self.options, *options],
                cwd=self.certificates, stdout=log, stderr=log)

    def kill(self, index, number=signal.SIGKILL):
        self.processes[index].send_signal(number)
        if number == signal.SIGKILL:
            self.processes[index].wait(timeout=30)

    def etcdctl(self, *arguments, check=True, endpoints=None):
        endpoints = endpoints or [self.url(index) for index in range(len(self.ports))]
        return subprocess.run(
            [*self.enter(None), f"{self.programs}/etcdctl", "--endpoints", ",".join(endpoints), "--cacert", "ca.crt",
             "--cert", "admin.crt", "--key", "admin.key", *arguments], cwd=self.certificates, check=check, capture_output=True,
            text=True, timeout=60, env={**os.environ, "ETCDCTL_API": "3"})

    def leader(self):
        lines = self.etcdctl("endpoint", "status", check=False).stdout.splitlines()
        leaders = [line.split(", ")[0] for line in lines if line.split(", ")[4] == "true"]
        return [self.url(index) for index in range(len(self.ports))].index(leaders[0])

    def member(self, index):
        """Returns the id of a node."""
        lines = self.etcdctl("member", "list").stdout.splitlines()
        return next(line.split(", ")[0] for line in lines if line.split(", ")[2] == f"n{index}")

    def retry(self, *arguments, endpoints=None):
        """Runs etcdctl until it succeeds, for at most 60 seconds."""
        deadline = time.monotonic() + 60
        while (end := self.etcdctl(*arguments, check=False, endpoints=endpoints)).returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(f"etcdctl {arguments} failed for 60 seconds: {end.stderr}")
            time.sleep(0.1)

    def wait_for(self, index):
        """Waits until a node answers."""
        self.retry("endpoint", "health", endpoints=[self.url(index)])

    def save_snapshot(self, name):
        """Saves a snapshot; returns its path."""
        path = f"{self.directory}/{name}"
        self.etcdctl("snapshot", "save", path, endpoints=[self.url(0)])
        return path

    def restore(self, snapshot):
        """Replaces the disks of all nodes by a snapshot, and starts them, without waiting."""
        for index in range(len(self.ports)):
            self.kill(index)
            shutil.rmtree(f"{self.directory}/n{index}")
            self.etcdctl(
                "snapshot", "restore", snapshot, "--name", f"n{index}", "--initial-cluster", self.peers(),
                "--initial-advertise-peer-urls", self.peer_url(index), "--data-dir", f"{self.directory}/n{index}")
        for index in range(len(self.ports)):
            self.start(index)

    def stop(self):
        for process in self.processes:
            if process and process.poll() is None:
                process.kill()
                process.wait(timeout=30)


class Gateway:
    """The HTTP interface of a node on loopback, to write and to watch without kist."""

    # A row of a small credential.
    RECORD = 512

    def __init__(self, nodes, index=0):
        context = ssl.create_default_context(cafile=f"{nodes.certificates}/ca.crt")
        context.load_cert_chain(f"{nodes.certificates}/client.crt", f"{nodes.certificates}/client.key")
        self.connection = http.client.HTTPSConnection("127.0.0.1", nodes.ports[index][0], context=context, timeout=30)

    @staticmethod
    def key(number):
        return encoded(b"bare/%d" % (number % 100))

    def request(self, path, **body):
        self.connection.request("POST", path, json.dumps(body))
        reply = self.connection.getresponse()
        assert reply.status == 200, reply.status
        return reply

    def put(self, number):
        self.request("/v3/kv/put", key=self.key(number), value=encoded(os.urandom(self.RECORD))).read()

    def watch(self, number):
        """Watches a key; returns the socket that receives its changes."""
        reply = self.request("/v3/watch", create_request={"key": self.key(number)})
        assert json.loads(reply.readline())["result"]["created"]
        # The reply holds the connection.
        return self.connection.sock, reply


class Connection:
    """A connection to kist-etcd, for one request after another."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.lines = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.lines.close()
        self.socket.close()

    def read(self):
        """Returns the next line; `None` at the end."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def call(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        return self.read()


class Adapter:
    """A kist-etcd at the last host, and requests to it."""

    def __init__(self, program, nodes, order=None, name="cluster", words=()):
        self.path = f"{nodes.directory}/{name}.sock"
        endpoints = [nodes.url(index) for index in order or range(len(nodes.ports))]
        files = nodes.certificates
        self.log = f"{nodes.directory}/{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*nodes.enter(len(nodes.ports)), *words, program, "--vault", VAULT, "--socket", self.path, "--ca", f"{files}/ca.crt",
                 "--cert", f"{files}/client.crt", "--key", f"{files}/client.key",
                 *[word for url in endpoints for word in ("--endpoint", url)]], stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("kist-etcd did not start: " + self.log_text()) from None
                time.sleep(0.05)

    def connect(self):
        return Connection(self.path)

    def log_text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def call(self, **request):
        with self.connect() as connection:
            return connection.call(**request)

    def changes(self, generation, after):
        """Returns the connection and its first reply; the events follow."""
        connection = self.connect()
        return connection, connection.call(op="changes", generation=generation, after=after)

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=30)


def encoded(data):
    return base64.b64encode(data).decode()


def change(sequence, before, puts=(), deletes=(), generation=1):
    """A commit that replaces the head, as a request."""
    name = f"{generation:08x}"
    head = encoded(b"head %d" % sequence)
    return {
        "op": "commit", "expected": {"generation": generation, "head": before},
        "puts": {f"{name}/head": head, f"{name}/log/{sequence:016x}": head, **dict(puts)},
        "deletes": list(deletes),
    }


def row(first, last=0, generation=1):
    return f"{generation:08x}/row/{first:02x}{'00' * 14}{last:02x}"


def programs(version):
    """Returns the directory of the programs of a version of etcd; `None` if it is not there."""
    directory = os.environ.get(VERSIONS[version])
    if directory and shutil.which("openssl"):
        return directory
    if "CI" in os.environ:
        raise RuntimeError(f"etcd {version} or openssl is missing: run `make test-cluster`")
    return None


def for_each_version(loader, cases):
    """Returns the tests of some classes, for each version of etcd."""
    suite = unittest.TestSuite()
    for version in VERSIONS:
        for case in cases:
            name = f"{case.__name__} with etcd {version}"
            suite.addTests(loader.loadTestsFromTestCase(type(name, (case,), {"version": version, "__module__": case.__module__})))
    return suite
