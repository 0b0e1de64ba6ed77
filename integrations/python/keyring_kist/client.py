"""kistd's line protocol, version 1: docs/protocol.md of kist."""

import base64
import json
import os
import socket
import struct
import time

LONGEST_LINE = 1 << 20
PATIENCE = 60.0


class KistError(Exception):
    """What kistd answered, or why it could not be asked; never a part of the question."""

    def __init__(self, code, message, hint=None):
        super().__init__(f"{message}; {hint}" if hint else message)
        self.code = code


def socket_path():
    """Where this user's kistd listens: "Where" in docs/protocol.md."""
    if path := os.environ.get("KIST_SOCKET"):
        return path
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return f"{runtime}/kist/kist.sock"
    runtime = f"/run/user/{os.geteuid()}"
    if is_our_directory(runtime):
        return f"{runtime}/kist/kist.sock"
    home = os.environ.get("HOME", "")
    if not home.startswith("/"):
        raise KistError("unavailable", "HOME does not say where kistd listens", "set KIST_SOCKET")
    return f"{home}/.local/state/kist/kist.sock"


def is_our_directory(path):
    try:
        return os.path.isdir(path) and os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False


def stands_for_strangers(uid):
    """Whether the kernel shows users by it, too, that this user namespace has no number for: user_namespaces(7)."""
    if uid != int(text_of("/proc/sys/kernel/overflowuid") or 65534):
        return False
    return sum(int(row.split()[2]) for row in text_of("/proc/self/uid_map").splitlines()) < (1 << 32) - 1


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def connect(patience=PATIENCE):
    """A connection to kistd; anybody else who listens there is told nothing."""
    path = socket_path()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Of the system, until it is connected: with one of Python's, a queue of clients that is full is an error at once.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", *seconds_and_micros(patience)))
    try:
        connection.connect(path)
        connection.settimeout(patience)
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = os.geteuid()
        if struct.unpack("3i", peer)[1] != uid or stands_for_strangers(uid):
            raise KistError("denied", "another user's process listens where kistd should")
    except OSError as error:
        connection.close()
        raise unreachable(error) from None
    except KistError:
        connection.close()
        raise
    return connection


def unreachable(error):
    """Why kistd could not be asked."""
    is_late = isinstance(error, (TimeoutError, BlockingIOError))
    reason = "it did not answer" if is_late else error.strerror or str(error)
    return KistError("unavailable", f"kistd cannot be reached: {reason}", "start it: kistd")


def ask(op, **request):
    """One request and its reply, which must be there within PATIENCE seconds."""
    # What json writes is ASCII; a lone surrogate, which is no text, kistd refuses.
    line = json.dumps({"op": op, **request}).encode() + b"\n"
    if len(line) > LONGEST_LINE + 1:
        raise KistError("tooLarge", f"the request is longer than {LONGEST_LINE} bytes; nothing was changed")
    end = time.monotonic() + PATIENCE
    with connect(PATIENCE) as connection:
        try:
            connection.settimeout(until(end))
            connection.sendall(line)
            reply = read_line(connection, end)
        except OSError as error:
            raise unreachable(error) from None
    if reply.get("ok") is True:
        return reply
    error = reply.get("error", {})
    raise KistError(
        error.get("code", "internal"), error.get("message", "kistd gave no reason"), error.get("hint"))


def seconds_and_micros(patience):
    """As the system takes a time; not none, which would be for ever."""
    return divmod(max(round(patience * 1_000_000), 1), 1_000_000)


def until(end):
    """The seconds until then, more than none: none would mean not to wait."""
    return max(end - time.monotonic(), 0.001)


def read_line(connection, end):
    line = bytearray()
    while not line.endswith(b"\n"):
        connection.settimeout(until(end))
        piece = connection.recv(1 << 16)
        if not piece or len(line) + len(piece) > LONGEST_LINE + 1:
            raise KistError("unavailable", "kistd ended the connection before its reply")
        line += piece
    try:
        reply = json.loads(line)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise KistError("internal", "what answered is not kistd")
    return reply


def secret(credential):
    """The secret of a loaded credential, in bytes."""
    if "secretBase64" in credential:
        return base64.b64decode(credential["secretBase64"], validate=True)
    return credential["secret"].encode()
