"""A visitor that connects as another user: `stranger.py VISITOR SOCKET [LINE]`, as root.

It connects, sends the line at once, and prints "sent". Then it prints the reply, and "reset" if the other end closed the
connection without reading everything (unix_release_sock of Linux).
"""

import ctypes
import os
import socket
import sys
import time

CLONE_NEWUSER = 0x10000000
LINE = '{"op":"save","service":"stranger","secret":"stranger"}'
DEADLINE = 20
# The same as in the test that starts kistd.
USER, OTHER, SUBORDINATE, NOBODY = 61234, 61235, 165537, 65534


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def enter_namespace(uid, ids, inside):
    """Continues in a new user namespace as the uid `inside`; `ids` are the lines of its uid_map, if any."""
    outcome, wish = os.pipe(), os.pipe()
    if child := os.fork():
        os.read(wish[0], 1)
        if ids:
            for name in ("uid_map", "gid_map"):
                with open(f"/proc/{child}/{name}", "w") as file:
                    file.write(ids)
        os.write(outcome[1], b"x")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    become(uid)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(wish[1], b"x")
    os.read(outcome[0], 1)
    if ids:
        os.setresgid(inside, inside, inside)
        os.setresuid(inside, inside, inside)


# The visitors: the uid that a kistd outside of namespaces sees, and how to become the visitor.
VISITORS = {
    "root": (0, lambda: None),
    "other": (OTHER, lambda: become(OTHER)),
    "nobody": (NOBODY, lambda: become(NOBODY)),
    "other-as-root": (OTHER, lambda: enter_namespace(OTHER, f"0 {OTHER} 1", 0)),
    "other-as-user": (OTHER, lambda: enter_namespace(OTHER, f"{USER} {OTHER} 1", USER)),
    "other-unmapped": (OTHER, lambda: enter_namespace(OTHER, None, None)),
    "root-as-user": (0, lambda: enter_namespace(0, f"{USER} 0 1", USER)),
    "subordinate": (SUBORDINATE, lambda: enter_namespace(USER, f"0 {USER} 1\n1 {SUBORDINATE} 1", 1)),
    "subordinate-as-user": (SUBORDINATE, lambda: enter_namespace(USER, f"0 {USER} 1\n{USER} {SUBORDINATE} 1", USER)),
    # The same user as kistd.
    "user": (USER, lambda: become(USER)),
    "user-as-root": (USER, lambda: enter_namespace(USER, f"0 {USER} 1", 0)),
    "user-as-other": (USER, lambda: enter_namespace(USER, f"{OTHER} {USER} 1", OTHER)),
    "user-unmapped": (USER, lambda: enter_namespace(USER, None, None)),
}


def connect(path):
    """Returns a connection, once a process listens."""
    end = time.monotonic() + DEADLINE
    while True:
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.connect(path)
            stream.settimeout(DEADLINE)
            return stream
        except (FileNotFoundError, ConnectionRefusedError):
            stream.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def main():
    visitor, path, *rest = sys.argv[1:]
    VISITORS[visitor][1]()
    stream = connect(path)
    try:
        stream.sendall((rest[0] if rest else LINE).encode() + b"\n")
    except BrokenPipeError:
        pass
    print("sent", flush=True)
    stream.shutdown(socket.SHUT_WR)
    try:
        while piece := stream.recv(1 << 16):
            sys.stdout.buffer.write(piece)
    except ConnectionResetError:
        print("reset")


if __name__ == "__main__":
    main()
