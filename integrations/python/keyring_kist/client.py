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
    """An error from kistd, or the reason why kistd could not be reached; contains no part of the request."""

    def __init__(self, code, message, hint=None):
        super().__init__(f"{message}; {hint}" if hint else message)
        self.code = code


def socket_path():
    """Returns the path of this user's kistd socket: "Where" in docs/protocol.md."""
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


def represents_other_users(uid):
    """Returns whether users that this user namespace does not map may also have this uid: user_namespaces(7)."""
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
    """Connects to kistd; sends nothing if the listening process may belong to another user."""
    path = socket_path()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Until it is connected, the socket has a timeout of the kernel. With one of Python's, connect() fails at once if
    # kistd's queue of new clients is full.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", *seconds_and_micros(patience)))
    try:
        connection.connect(path)
        connection.settimeout(patience)
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = os.geteuid()
        if struct.unpack("3i", peer)[1] != uid or represents_other_users(uid):
            raise KistError("denied", "the process that listens at kistd's socket may belong to another user")
    except OSError as error:
        connection.close()
        raise unreachable(error) from None
    except KistError:
        connection.close()
        raise
    return connection


def unreachable(error):
    """Returns the error for a kistd that could not be reached."""
    is_late = isinstance(error, (TimeoutError, BlockingIOError))
    reason = "it did not answer" if is_late else error.strerror or str(error)
    return KistError("unavailable", f"kistd cannot be reached: {reason}", "start it: kistd")


def ask(op, **request):
    """Sends one request and returns its reply, which must arrive within PATIENCE seconds."""
    # json writes ASCII. kistd refuses a lone surrogate, because it is not text.
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
    """Returns a time as the kernel expects it; never 0, which would mean no timeout."""
    return divmod(max(round(patience * 1_000_000), 1), 1_000_000)


def until(end):
    """Returns the seconds until a time; more than 0, because 0 would mean not to wait."""
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
        raise KistError("internal", "the reply does not follow kistd's protocol")
    return reply


def secret(credential):
    """Returns the secret of a loaded credential, in bytes."""
    if "secretBase64" in credential:
        return base64.b64decode(credential["secretBase64"], validate=True)
    return credential["secret"].encode()
