"""Clients of cred.sock that read nothing: `silent.py UNIT SOCKET NUMBER GROUP…`, with one process in each control group.

Each process opens connections as systemd does to request a missing credential of the unit. It keeps them until standard input
ends. Without a UNIT, it connects from another address. The UNIT `own` is the one of its group.
"""

import os
import resource
import socket
import struct
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from scan.units import address  # noqa: E402


def connect(group, unit, path, number):
    """Enters the control group; returns the connections that kistd accepted."""
    (Path(group) / "cgroup.procs").write_text("0")
    streams = []
    for account in range(number):
        stream = socket.socket(socket.AF_UNIX)
        # With a timeout of Python, a full backlog would be an immediate error.
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 10, 0))
        try:
            if unit:
                stream.bind(address(Path(group).name if unit == "own" else unit, account))
            stream.connect(path)
        except BlockingIOError:
            break
        streams.append(stream)
    return streams


def main():
    unit, path, number, *groups = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    reading, writing = os.pipe()
    for group in groups:
        if os.fork() == 0:
            streams = connect(group, unit, path, int(number))
            os.write(writing, struct.pack("@i", len(streams)))
            sys.stdin.read()
            os._exit(0)
    print(sum(struct.unpack("@i", os.read(reading, 4))[0] for _ in groups), flush=True)
    for _ in groups:
        os.wait()


if __name__ == "__main__":
    main()
