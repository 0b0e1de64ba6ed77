"""A kistd on a store of its own, and what can be seen of it from outside."""

import json
import os
import socket
import subprocess
import threading
import time

CONNECTIONS = 8


def key(number):
    return {"service": f"service-{number:06}.example.org", "account": "alice"}


def line(operation, number, **fields):
    return json.dumps({"op": operation, **key(number), **fields}, separators=(",", ":")).encode() + b"\n"


def save_line(number):
    return line("save", number, secret=f"correct horse battery staple {number:06}",
                label="Alice at work", attributes={"host": "example.org"})


def pin(pid, cpus):
    """Puts all threads of a process on these CPUs; threads that they make later follow."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cpus)


class Daemon:
    def __init__(self, program, folder, size, keyring=None):
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
                self.ask(line("load", 0))
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

    def fill(self):
        """Saves the credentials over several connections, pipelined; gives the seconds it took."""
        began = time.monotonic()
        failures = []
        parts = [range(start, self.size, CONNECTIONS) for start in range(CONNECTIONS)]
        threads = [threading.Thread(target=self._fill, args=(part, failures)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise SystemExit(f"a save was not answered: {failures[0]}")
        return time.monotonic() - began

    def _fill(self, numbers, failures):
        try:
            with socket.socket(socket.AF_UNIX) as stream:
                stream.connect(str(self.socket))
                replies = stream.makefile("rb")
                for start in range(0, len(numbers), 100):
                    batch = numbers[start:start + 100]
                    stream.sendall(b"".join(save_line(number) for number in batch))
                    for _ in batch:
                        reply = replies.readline()
                        if not reply.startswith(b'{"ok":true'):
                            failures.append(reply.decode() or "the connection was closed")
                            return
        except OSError as error:
            failures.append(str(error))

    def wait_until_checked(self):
        """Waits until the check of the store that runs beside the service is done."""
        while json.loads(self.ask(b'{"op":"status"}\n'))["status"].get("integrity") == "checking":
            time.sleep(0.02)

    def resident(self):
        """Resident memory once nothing is going on, in MiB."""
        time.sleep(1)
        with open(f"/proc/{self.process.pid}/status") as status:
            [kilobytes] = [row.split()[1] for row in status if row.startswith("VmRSS:")]
        return int(kilobytes) / 1024
