"""A kistd on its own store, and measurements from outside."""

import json
import os
import socket
import subprocess
import time

from . import processes, programs, requests

FILLING_CONNECTIONS = 64
FILLING_DEPTH = 64


class Daemon:
    def __init__(self, program, folder, size, keyring=None):
        self.programs = folder
        self.folder = folder / (f"keyring-{size}" if keyring else str(size))
        self.folder.mkdir(mode=0o700)
        self.size = size
        self.socket = self.folder / "kist.sock"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "KIST_SOCKET": str(self.socket),
            "XDG_DATA_HOME": str(self.folder / "data"), "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_RUNTIME_DIR": str(self.folder),
        }
        self.command = [str(program), "--socket", str(self.socket), "--log-level", "warning"]
        if keyring:
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = keyring.address
            self.command += ["--storage", "libsecret"]
        else:
            self.command += ["--storage", "encrypted-file", "--data", str(self.folder / "data"),
                             "--key-file", str(self.folder / "key")]
        self.process = None

    def start(self):
        """Starts kistd; returns the seconds until it has answered one load."""
        began = time.monotonic()
        self.process = subprocess.Popen(self.command, env=self.environment)
        while True:
            try:
                self.ask(requests.load(0))
                return time.monotonic() - began
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    raise SystemExit("kistd ended before it answered") from None
                time.sleep(0.0002)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            if self.process.wait(timeout=60) != 0:
                raise SystemExit(f"kistd ended with status {self.process.returncode}")
        self.process = None

    def ask(self, request):
        """Sends a line over a new connection, and returns the reply."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(self.socket))
            stream.sendall(request)
            return stream.makefile("rb").readline()

    def answered(self, request):
        """Returns the reply to a request, which must succeed."""
        reply = json.loads(self.ask(request))
        if not reply["ok"]:
            raise SystemExit(f"refused: {reply['error']}")
        return reply

    def fill(self):
        """Saves the credentials over several connections, pipelined; returns the saves per second."""
        lines = b"".join(requests.save(number) for number in range(self.size))
        return programs.measure(
            [self.programs / "clients", self.socket, FILLING_CONNECTIONS,
             min(FILLING_DEPTH, self.size // FILLING_CONNECTIONS + 1), self.size], lines).per_second

    def read_into_cache(self):
        """Makes the kernel cache the whole store, as some kernels drop rarely used pages within seconds."""
        for file in (self.folder / "data").rglob("*"):
            if file.is_file():
                with file.open("rb", buffering=0) as stream:
                    while stream.read(1 << 20):
                        pass

    def find(self):
        """Returns the seconds to receive all pages of a search by one service."""
        query = {"service": requests.key(self.size // 2)["service"]}
        began, found, more = time.monotonic(), 0, {}
        while more is not None:
            page = self.answered(requests.line("find", **query, **more))
            found += len(page["credentials"])
            more = {"after": page["next"]} if "next" in page else None
        if found != 1:
            raise SystemExit(f"{found} credentials were found where there is one")
        return time.monotonic() - began

    def wait_until_checked(self):
        """Waits until the background check of the store is complete."""
        while (state := self.answered(requests.line("status"))["status"].get("integrity")) == "checking":
            time.sleep(0.02)
        if state == "failed":
            raise SystemExit("the check of the store failed")

    def resident(self):
        """Returns the resident memory in MiB, once kistd has been idle long enough to free its caches."""
        time.sleep(16)
        return processes.resident(self.process.pid)
