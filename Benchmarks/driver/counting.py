"""Runs kistd under a counting program, for a number of loads and saves."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

KEY = {"service": "service-000001.example.org", "account": "alice"}
LINES = {
    "load": {"op": "load", **KEY},
    "save": {"op": "save", **KEY, "secret": "correct horse battery staple 000001",
             "label": "Alice at work", "attributes": {"host": "example.org"}},
}


def stripped(folder, program):
    """Makes a copy that valgrind can read: valgrind 3.19 cannot read Swift's debugging information."""
    copy = folder / program.name
    subprocess.run(["objcopy", "--strip-debug", str(program), str(copy)], check=True)
    return copy


def requests(path, counts):
    """Sends each line a number of times over one connection, each after the reply to the previous one."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(str(path))
        replies = stream.makefile("rb")
        for operation, count in counts.items():
            line = json.dumps(LINES[operation], separators=(",", ":")).encode() + b"\n"
            for _ in range(count):
                stream.sendall(line)
                reply = replies.readline()
                if not reply.startswith(b'{"ok":true'):
                    raise SystemExit(f"a {operation} was refused: {reply.decode()}")


def is_listening(path):
    """Returns whether a process listens on a socket, which exists a moment before that."""
    with socket.socket(socket.AF_UNIX) as stream:
        return stream.connect_ex(str(path)) == 0


@contextlib.contextmanager
def serving(folder, watcher, kistd):
    """Runs kistd under a counting program, and waits until it ends; yields the path of its socket."""
    home = pathlib.Path(tempfile.mkdtemp(dir=folder))
    path = home / "kist.sock"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    command = [*watcher, str(kistd), "--socket", str(path), "--storage", "encrypted-file",
               "--log-level", "error"]
    process = subprocess.Popen(command, env=environment, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(6000):
            if process.poll() is not None or is_listening(path):
                break
            time.sleep(0.01)
        yield path
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def run(folder, watcher, kistd, counts):
    """Counts the work of kistd for a number of requests of each kind."""
    with serving(folder, watcher, kistd) as path:
        requests(path, {"save": 1, "load": 1})
        requests(path, counts)
