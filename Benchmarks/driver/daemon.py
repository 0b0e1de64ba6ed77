"""A kistd on a store of its own, and what can be seen of it from outside."""

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
        """Starts it, and gives the seconds until it had answered one load."""
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
        """One line there and one back, over a connection of its own."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(self.socket))
            stream.sendall(request)
            return stream.makefile("rb").readline()

    def answered(self, request):
        """The reply to a request that must succeed."""
        reply = json.loads(self.ask(request))
        if not reply["ok"]:
            raise SystemExit(f"refused: {reply['error']}")
        return reply

    def fill(self):
        """Saves the credentials over several connections, pipelined; gives the saves a second."""
        lines = b"".join(requests.save(number) for number in range(self.size))
        return programs.measure(
            [self.programs / "clients", self.socket, FILLING_CONNECTIONS,
             min(FILLING_DEPTH, self.size // FILLING_CONNECTIONS + 1), self.size], lines).per_second

    def read_into_cache(self):
        """Has the kernel keep all of the store in memory; some give what few ask for back in seconds."""
        for file in (self.folder / "data").rglob("*"):
            if file.is_file():
                with file.open("rb", buffering=0) as stream:
                    while stream.read(1 << 20):
                        pass

    def find(self):
        """The seconds until all pages were answered that a search by one service has."""
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
        """Waits until the check of the store that runs beside the service is done."""
        while (state := self.answered(requests.line("status"))["status"].get("integrity")) == "checking":
            time.sleep(0.02)
        if state == "failed":
            raise SystemExit("the check of the store failed")

    def resident(self):
        """Resident memory once it was quiet for so long that kistd gave back what it kept, in MiB."""
        time.sleep(16)
        return processes.resident(self.process.pid)
