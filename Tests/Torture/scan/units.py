"""Credentials of units, which kistd serves at the socket for the service manager.

As a program, it is a unit: `python3 -m scan.units CGROUP SOCKET ACCOUNT SIZE` reads SIZE bytes of the answer, and exits.
"""

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from frame.context import TORTURE
from scan.served import Served

UNIT = "kist-torture.service"
OTHER_UNIT = "kist-torture-other.service"
# Control groups below a unit, with the name of another one.
BELOW_OTHER_UNIT, BELOW_UNIT = f"{OTHER_UNIT}/{UNIT}", f"{UNIT}/{OTHER_UNIT}"
# Units that connect once each and read nothing.
SILENT_UNITS = [f"kist-torture-silent-{number}.service" for number in range(100)]
SIZES = (100, 5000, 500_000)
# A minimal service manager: it listens, passes on the socket, and becomes kistd.
MANAGER = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="credentials")
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextmanager
def control_groups(folder):
    """Yields the control group of the user's manager, with groups of units that processes can enter (cgroups(7), version 2)."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", folder], check=True)
    manager = folder / f"user@{os.getuid()}.service"
    groups = [manager, *(manager / name for name in (UNIT, OTHER_UNIT, BELOW_OTHER_UNIT, BELOW_UNIT, *SILENT_UNITS))]
    try:
        for group in groups:
            group.mkdir(exist_ok=True)
        yield manager
    finally:
        for group in reversed(groups):
            group.rmdir()
        subprocess.run(["umount", folder], check=True)


def address(unit, account):
    """Returns an address from which systemd would connect."""
    return f"\0{os.urandom(8).hex()}/unit/{unit}/{account}"


def look(row, context):
    path = context.folder / "credentials.sock"
    with control_groups(context.folder / "cgroup") as manager:
        group = manager / UNIT
        with Served(context, "units", under=(sys.executable, "-c", MANAGER, path)) as served:
            for size in SIZES:
                secret = served.marks.secret(size)
                with served.kistd.connect() as connection:
                    connection.ask(op="save", service=UNIT, account=str(size), secret=secret.decode())
                for wanted in (size, size // 2, 1):
                    command = [sys.executable, "-m", "scan.units", group, path, str(size), str(wanted)]
                    given = subprocess.run(command, cwd=TORTURE, stdout=subprocess.PIPE, check=True).stdout
                    if given != secret[:wanted]:
                        row.wrong.append(f"a unit received {len(given)} bytes that it did not request")
                    served.look_when_clients_have_gone(row, f"a unit read {wanted} bytes of its credential of {size}")


def main():
    group, path, account, wanted = sys.argv[1:]
    (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
    with socket.socket(socket.AF_UNIX) as stream:
        stream.bind(address(UNIT, account))
        stream.connect(path)
        sys.stdout.buffer.write(stream.recv(int(wanted), socket.MSG_WAITALL))


if __name__ == "__main__":
    main()
