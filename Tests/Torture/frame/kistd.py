"""A kistd on its own store."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path


class Ended(Exception):
    """kistd ended before it answered."""


class Kistd:
    """A folder with a store, a key and a socket, and the kistd that serves it, if one runs."""

    def __init__(self, program, folder, *options, under=(), passphrase=None, storage="encrypted-file", key="key",
                 **environment):
        """`under` is a command that runs kistd, such as a tracer; `key` is a path in the folder."""
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.data, self.socket = self.folder / "data", self.folder / "kist.sock"
        self.log = self.folder / "log"
        self.program, self.passphrase = program, passphrase
        self.command = [*map(str, under), str(program), "--socket", str(self.socket), "--log-level", "warning",
                        "--storage", storage, "--data", str(self.data), *options]
        if passphrase is None:
            self.command += ["--key-file", str(self.folder / key)]
        home = str(self.folder)
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": home,
                            "XDG_STATE_HOME": f"{home}/state"} | environment
        self.process = None

    def spawn(self):
        """Starts kistd without waiting for it."""
        command, given = self.command, ()
        if self.passphrase is not None:
            reading, writing = os.pipe()
            os.write(writing, self.passphrase)
            os.close(writing)
            command, given = [*command, "--passphrase-fd", str(reading)], (reading,)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=self.environment, pass_fds=given, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        for descriptor in given:
            os.close(descriptor)

    def connect(self, timeout=60):
        """Returns a connection once kistd listens; throws Ended if kistd ends first."""
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(timeout)
        while True:
            try:
                stream.connect(str(self.socket))
                return Connection(stream)
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    stream.close()
                    raise Ended from None
                time.sleep(0.0005)

    def start(self):
        """Starts kistd and waits until it answers; returns the connection."""
        self.spawn()
        connection = self.connect()
        connection.ask(op="hello")
        return connection

    def wait(self, timeout=60):
        """Waits until kistd ends; returns its status, negative for a signal."""
        status = self.process.wait(timeout)
        self.process = None
        return status

    def stop(self):
        """Stops kistd with SIGTERM; returns its status."""
        self.process.terminate()
        return self.wait()

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.wait()

    def said(self):
        """Returns the standard error of kistd."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Connection:
    """A connection that sends one request after another."""

    def __init__(self, stream):
        self.stream = stream
        self.replies = stream.makefile("rb")

    def send(self, **request):
        try:
            self.stream.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            raise Ended from None

    def receive(self):
        try:
            line = self.replies.readline()
        except ConnectionResetError:
            line = b""
        if not line.endswith(b"\n"):
            raise Ended
        return json.loads(line)

    def ask(self, **request):
        self.send(**request)
        return self.receive()

    def close(self):
        self.replies.close()
        self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
