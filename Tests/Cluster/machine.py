"""A machine of a shared vault, for tests and benchmarks."""

import json
import os
import socket
import subprocess
import time


class Machine:
    """A machine with a kistd, in a directory of its own."""

    def __init__(self, kistd, folder, options):
        self.kistd, self.folder, self.options = str(kistd), folder, options
        folder.mkdir(mode=0o700)
        self.socket = folder / "kist/kist.sock"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder)}
        self.process = None

    def vault(self, *words):
        """Runs `kistd vault`; returns its output."""
        return subprocess.run(
            [self.kistd, "vault", *words, *self.options], env=self.environment, input="of the admin\n", text=True,
            stdout=subprocess.PIPE, check=True, timeout=600).stdout.rstrip("\n")

    def administer(self, *words):
        """Runs `kistd vault` with the admin key, which is in the directory of the machine that made the vault."""
        return self.vault(*words, "--admin-key", str(self.folder / "admin"))

    def join(self, admin, name):
        """Joins the vault of an admin's machine; returns the seconds of the join itself."""
        line = admin.administer("add", self.vault("identity"), "--name", name)
        began = time.monotonic()
        self.vault("join", line)
        return time.monotonic() - began

    def start(self):
        self.process = subprocess.Popen(
            [self.kistd, "--log-level", "error", *self.options], env=self.environment)
        deadline = time.monotonic() + 30
        while not self.is_answering():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError("kistd did not start")
            time.sleep(0.01)
        return self

    def is_answering(self):
        with socket.socket(socket.AF_UNIX) as stream:
            return stream.connect_ex(str(self.socket)) == 0

    def connect(self):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(60)
        stream.connect(str(self.socket))
        return stream, stream.makefile("rb")

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(timeout=60)
            finally:
                self.process.kill()
        self.process = None


def exchange(connection, request):
    """Sends a request line; returns the reply."""
    stream, lines = connection
    stream.sendall(request)
    return json.loads(lines.readline())


def patient_exchange(connection, request):
    """Sends a request line; tries again while the vault is busy, as the error says. Returns the last reply."""
    deadline = time.monotonic() + 60
    while True:
        reply = exchange(connection, request)
        error = reply.get("error", {})
        is_busy = (error.get("code"), error.get("outcome", "unchanged")) == ("busy", "unchanged")
        if not is_busy or time.monotonic() > deadline:
            return reply
        time.sleep(0.02)


def ask(connection, request):
    """Sends a request line; returns the reply, which must be a success."""
    reply = exchange(connection, request)
    assert reply["ok"], reply
    return reply
