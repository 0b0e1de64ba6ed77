"""Clients of cred.sock that read nothing: `silent.py GROUP UNIT SOCKET NUMBER`, as a process in a control group.

Opens connections as systemd does to request a missing credential of the unit, and keeps them until standard input ends.
"""

import resource
import socket
import struct
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from scan.units import address  # noqa: E402


def main():
    group, unit, path, number = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    (Path(group) / "cgroup.procs").write_text("0")
    streams = []
    for account in range(int(number)):
        stream = socket.socket(socket.AF_UNIX)
        # With a timeout of Python, a full backlog would be an immediate error.
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 10, 0))
        try:
            if unit:
                stream.bind(address(unit, account))
            stream.connect(path)
        except BlockingIOError:
            break
        streams.append(stream)
    print(len(streams), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
