"""Nodes of etcd on loopback with mutual TLS, and kist-etcd in front of them, for tests."""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import time

VAULT = "00112233445566778899aabbccddeeff"
PREFIX = f"kist/1/{VAULT}/"


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
    """Writes NAME.crt and NAME.key: for a node on 127.0.0.1, and for a client."""
    openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(f"{directory}/{name}.ext", "w") as file:
        file.write("subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n")
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{name}.crt", "-days", str(days), "-extfile", f"{name}.ext")


class Nodes:
    """One node, or three."""

    def __init__(self, directory, count=1, options=()):
        self.directory, self.options = directory, list(options)
        self.certificates = f"{directory}/certificates"
        make_authority(self.certificates)
        for name in ["node", "client"]:
            make_certificate(self.certificates, name)
        self.ports = [(free_port(), free_port()) for _ in range(count)]
        self.processes = [None] * count
        for index in range(count):
            self.start(index)
        deadline = time.monotonic() + 60
        while self.etcdctl("endpoint", "health", check=False).returncode != 0:
            if time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("etcd did not start within 60 seconds; see its log in " + directory)
            time.sleep(0.2)

    def url(self, index):
        return f"https://127.0.0.1:{self.ports[index][0]}"

    def start(self, index):
        tls = ["--{}cert-file=node.crt", "--{}key-file=node.key", "--{}trusted-ca-file=ca.crt",
               "--{}client-cert-auth"]
        peers = ",".join(f"n{number}=https://127.0.0.1:{peer}" for number, (_, peer) in enumerate(self.ports))
        peer = f"https://127.0.0.1:{self.ports[index][1]}"
        with open(f"{self.directory}/n{index}.log", "ab") as log:
            self.processes[index] = subprocess.Popen(
                ["etcd", "--name", f"n{index}", "--data-dir", f"{self.directory}/n{index}",
                 "--listen-client-urls", self.url(index), "--advertise-client-urls", self.url(index),
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", peers, *[option.format("") for option in tls],
                 *[option.format("peer-") for option in tls], *self.options],
                cwd=self.certificates, stdout=log, stderr=log)

    def kill(self, index, number=signal.SIGKILL):
        self.processes[index].send_signal(number)
        if number == signal.SIGKILL:
            self.processes[index].wait(timeout=30)

    def etcdctl(self, *arguments, check=True, endpoints=None):
        endpoints = endpoints or [self.url(index) for index in range(len(self.ports))]
        return subprocess.run(
            ["etcdctl", "--endpoints", ",".join(endpoints), "--cacert", "ca.crt", "--cert", "client.crt",
             "--key", "client.key", *arguments], cwd=self.certificates, check=check, capture_output=True,
            text=True, timeout=60, env={**os.environ, "ETCDCTL_API": "3"})

    def leader(self):
        lines = self.etcdctl("endpoint", "status", check=False).stdout.splitlines()
        leaders = [line.split(", ")[0] for line in lines if line.split(", ")[4] == "true"]
        return [self.url(index) for index in range(len(self.ports))].index(leaders[0])

    def stop(self):
        for process in self.processes:
            if process and process.poll() is None:
                process.kill()
                process.wait(timeout=30)


class Adapter:
    """A kist-etcd, and requests to it."""

    def __init__(self, program, nodes, order=None):
        self.path = f"{nodes.directory}/cluster.sock"
        endpoints = [nodes.url(index) for index in order or range(len(nodes.ports))]
        files = nodes.certificates
        self.log = f"{nodes.directory}/adapter.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [program, "--vault", VAULT, "--socket", self.path, "--ca", f"{files}/ca.crt",
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
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(30)
        try:
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        return connection

    def log_text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def call(self, **request):
        with self.connect() as connection, connection.makefile("rb") as lines:
            connection.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(lines.readline())

    def changes(self, generation, after):
        """Returns the connection and its lines, after the first reply."""
        connection = self.connect()
        lines = connection.makefile("rb")
        request = {"op": "changes", "generation": generation, "after": after}
        connection.sendall(json.dumps(request).encode() + b"\n")
        return connection, lines, json.loads(lines.readline())

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


def require_programs():
    missing = [name for name in ["etcd", "etcdctl", "openssl"] if not shutil.which(name)]
    if missing:
        raise RuntimeError(f"missing programs: {missing}; install etcd-server, etcd-client and openssl")
