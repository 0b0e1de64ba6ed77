"""Processes of other users: kistd must serve none, and the socket must stay private to its user."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from frame.kistd import Kistd
from frame.row import Row
from hostile import stranger

STRANGER = Path(stranger.__file__)
AS_USER = ("setpriv", f"--reuid={stranger.USER}", f"--regid={stranger.USER}", "--clear-groups")
IN_NAMESPACE = (*AS_USER, "unshare", "--user")
AS_NOBODY = (*IN_NAMESPACE, f"--map-user={stranger.NOBODY}")


@dataclass
class Place:
    """Where kistd runs, whether it starts there, and the uid by which it sees other users, if not their own."""
    under: tuple
    starts: bool = True
    seen: int | None = None
    # The command that kistd runs, if any.
    command: tuple = ()


PLACES = {
    "": Place(AS_USER),
    ", kistd in a namespace": Place((*IN_NAMESPACE, f"--map-user={stranger.USER}"), seen=stranger.NOBODY),
    ", kistd as root of a namespace": Place((*IN_NAMESPACE, "--map-root-user"), seen=stranger.NOBODY),
    ", kistd in a namespace where it is nobody": Place(AS_NOBODY, starts=False),
    ", kistd in a namespace where it is nobody, for a command": Place(AS_NOBODY, starts=False, command=("true",)),
    ", kistd in a namespace without a uid": Place(IN_NAMESPACE, starts=False),
}


def run(context):
    if os.geteuid() != 0:
        raise RuntimeError("this needs root, to become other users")
    for number, (name, place) in enumerate(PLACES.items()):
        yield visits(context, number, name, place)
    yield umasks(context)
    yield obstacles(context)
    yield reloads(context)


def owned_folder(context, name, mode=0o711):
    """Creates a folder of the user that others can reach."""
    context.folder.chmod(0o711)
    folder = context.folder / name
    folder.mkdir()
    folder.chmod(mode)
    os.chown(folder, stranger.USER, stranger.USER)
    return folder


def program(context):
    """Returns a copy of kistd that the user can run."""
    context.folder.chmod(0o711)
    copy = context.folder / "kistd"
    if not copy.exists():
        shutil.copy(context.kistd, copy)
        copy.chmod(0o755)
    return copy


def visits(context, number, name, place):
    began = time.monotonic()
    row = Row(what="other users connect" + name)
    kistd = Kistd(program(context), owned_folder(context, f"visits{number}", 0o700), under=place.under)
    if place.command:
        kistd.command += ["--", *place.command]
    kistd.spawn()
    if not place.starts:
        row.tries += 1
        if not is_refused(kistd):
            row.wrong.append(f"kistd did not refuse to start: {kistd.said()[-300:]}")
            kistd.kill()
        row.seconds = time.monotonic() - began
        return row
    wait_until_listening(kistd)
    # Only the check of kistd keeps others out.
    kistd.folder.chmod(0o711)
    kistd.socket.chmod(0o666)
    while not row.findings:
        for visitor, (uid, _) in stranger.VISITORS.items():
            visit(kistd, visitor, uid, place.seen, row)
        if context.short or time.monotonic() - began > context.seconds / len(PLACES):
            break
    if kistd.process.poll() is None:
        kistd.process.send_signal(signal.SIGTERM)
    if kistd.wait() != 0:
        row.wrong.append(f"kistd did not exit with 0: {kistd.said()[-300:]}")
    row.seconds = time.monotonic() - began
    return row


def is_refused(kistd):
    try:
        return kistd.wait(10) == 6 and "cannot distinguish other users from you" in kistd.said()
    except subprocess.TimeoutExpired:
        return False


def wait_until_listening(kistd):
    """Waits without connecting, as kistd would log a connection."""
    while not any(line.endswith(f" {kistd.socket}") and " 00010000 " in line
                  for line in Path("/proc/net/unix").read_text().splitlines()):
        if kistd.process.poll() is not None:
            raise RuntimeError(f"kistd did not start: {kistd.said()}")
        time.sleep(0.001)


def visit(kistd, visitor, uid, seen, row):
    """Lets a visitor connect and send a line before kistd checks the connection."""
    row.tries += 1
    kistd.process.send_signal(signal.SIGSTOP)
    # All threads have stopped, or kistd could close the connection before the visitor sends.
    os.waitid(os.P_PID, kistd.process.pid, os.WSTOPPED)
    process = subprocess.Popen(["/usr/bin/python3", STRANGER, visitor, kistd.socket], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    sent = process.stdout.readline()
    kistd.process.send_signal(signal.SIGCONT)
    answer, errors = process.communicate(timeout=60)
    if process.returncode != 0:
        row.wrong.append(f"{visitor} failed: {errors}")
        return
    if sent != "sent\n":
        row.wrong.append(f"{visitor} could not connect")
    elif uid == stranger.USER:
        if not answer.startswith('{"ok":true'):
            row.wrong.append(f"{visitor}, a process of the user, received {answer}")
    elif (lines := answer.splitlines())[-1:] != ["reset"]:
        row.got_in.append(f"kistd read the request of {visitor}: {answer}")
    elif len(lines) != 2 or json.loads(lines[0])["error"]["code"] != "denied":
        row.got_in.append(f"{visitor} received {answer}")
    elif row.tries == 1 and f"uid={uid if seen is None else seen}" not in kistd.said():
        row.wrong.append(f"the log does not name {visitor}: {kistd.said()}")


def umasks(context):
    began = time.monotonic()
    row = Row(what="a start with each umask")
    masks = range(0o1000)
    if context.short:
        masks = [0, 0o777, 0o077, *context.random("umasks").sample(masks, 8)]
    for mask in masks:
        folder = owned_folder(context, f"umask{mask:o}")
        kistd = Kistd(program(context), folder / "a", under=(
            *AS_USER, "sh", "-c", f'umask {mask:o}; exec "$@"', "sh"))
        kistd.folder.rmdir()
        kistd.log = folder / "log"
        kistd.spawn()
        wait_until_listening(kistd)
        while not (kistd.data / "credentials.db").exists() and kistd.process.poll() is None:
            time.sleep(0.001)
        for path in [kistd.folder, *kistd.folder.rglob("*")]:
            status = path.lstat()
            allowed = 0o700 if stat.S_ISDIR(status.st_mode) else 0o600
            if stat.S_IMODE(status.st_mode) & ~allowed or path == kistd.socket and stat.S_IMODE(status.st_mode) != 0o600:
                row.wrong.append(f"umask {mask:o}: {path.relative_to(folder)} has mode {status.st_mode:o}")
        kistd.stop()
        shutil.rmtree(folder)
        row.tries += 1
    row.seconds = time.monotonic() - began
    return row


# What an attacker puts in the place of a file.
OBSTACLES = {
    "a file": lambda path: path.write_text("precious"),
    "a link to a file": lambda path: path.symlink_to("../precious"),
    "a hard link to a file": lambda path: os.link(
        next(up / "precious" for up in path.parents if (up / "precious").exists()), path),
    "a link to nowhere": lambda path: path.symlink_to("../nowhere"),
    "a link to a directory": lambda path: path.symlink_to("../directory"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a pipe": os.mkfifo,
    "another user's directory": lambda path: (path.mkdir(0o777), path.chmod(0o777)),
    "another user's file": lambda path: (path.write_text("precious"), path.chmod(0o666)),
}


def owner(name):
    return stranger.OTHER if name.startswith("another user") else stranger.USER


def obstacles(context):
    """Checks that kistd leaves obstacles unchanged, and creates no socket elsewhere."""
    began = time.monotonic()
    row = Row(what="an obstacle in place of the socket, of a lock, of the pin, or of the key")
    # The places of the directory, the socket and its lock.
    for place in ("a", "a/kist.sock", "a/kist.sock.lock"):
        for name, make in OBSTACLES.items():
            if place.endswith("lock") and name.endswith(" file") and "link" not in name:
                continue  # A lock is a file, and other users cannot create one there.
            check(context, row, place, name, make, owner(name))
    # kistd reads a file there, with invalid content.
    for place in ("data/storage", "key"):
        for name, make in OBSTACLES.items():
            check(context, row, place, name, make, owner(name))
    # kistd locks a file there, whose content does not matter.
    for place in ("data/credentials.db.lock", "data/served", "data/served.users"):
        for name, make in OBSTACLES.items():
            if name != "a file":
                check(context, row, place, name, make, owner(name))
    for mode in (0o770, 0o707, 0o711, 0o750, 0o777, 0o1777, 0o2770):
        check(context, row, "a", f"a directory of mode {mode:o}", lambda path: (path.mkdir(), path.chmod(mode)), stranger.USER)
    row.seconds = time.monotonic() - began
    return row


def check(context, row, place, name, make, uid):
    folder = owned_folder(context, f"obstacle{row.tries}")
    (folder / "precious").write_text("precious")
    for each in ("directory", "data"):
        (folder / each).mkdir(0o700)
    kistd = Kistd(program(context), folder / "a", under=AS_USER)
    if place == "a":
        kistd.folder.rmdir()
    kistd.log = folder.parent / f"log{row.tries}"
    kistd.command[kistd.command.index("--data") + 1] = str(folder / "data")
    kistd.command[kistd.command.index("--key-file") + 1] = str(folder / "key")
    make(folder / place)
    for path in folder.rglob("*"):
        os.chown(path, stranger.USER, stranger.USER, follow_symlinks=False)
    os.chown(folder / place, uid, uid, follow_symlinks=False)
    before = state(folder)
    kistd.spawn()
    try:
        status = kistd.wait(20)
        if status not in (6, 7, 10):
            row.wrong.append(f"{name} at {place}: kistd ended with {status}")
    except subprocess.TimeoutExpired:
        row.wrong.append(f"{name} at {place}: kistd started")
        kistd.kill()
    # Locks may remain, and so may kistd's own state directory, which it creates first.
    locks = (".lock", "/served", "/served.users")
    after = {path: each for path, each in state(folder).items()
             if path in before or not path.endswith(locks) and each != (stranger.USER, 0o40700, "")}
    if before != after:
        row.wrong.append(f"{name} at {place}: changed {before.items() ^ after.items()}")
    row.tries += 1


def reloads(context):
    """Checks that a running kistd leaves obstacles unchanged when it opens its storage again, and keeps answering."""
    began = time.monotonic()
    row = Row(what="an obstacle in place of an open file, and then a reload")
    places = ("key", "data/credentials.db.lock", "data/served", "data/served.users", "data/audit.jsonl")
    cases = [(place, name) for place in places for name in OBSTACLES if name != "a file"]
    if context.short:
        cases = [case for case in cases if case[1] == "a pipe"] + context.random("reloads").sample(cases, 5)
    for place, name in cases:
        reload(context, row, place, name)
    row.seconds = time.monotonic() - began
    return row


def reload(context, row, place, name):
    case, folder = f"{name} at {place} before a reload", owned_folder(context, f"reload{row.tries}")
    for each in ("a", "data", "directory"):
        (folder / each).mkdir(0o700)
    (folder / "precious").write_text("precious")
    for path in folder.iterdir():
        os.chown(path, stranger.USER, stranger.USER)
    kistd = Kistd(program(context), folder / "a", under=AS_USER)
    kistd.log = folder.parent / f"log-of-reload{row.tries}"
    kistd.command[kistd.command.index("--data") + 1] = str(folder / "data")
    kistd.command[kistd.command.index("--key-file") + 1] = str(folder / "key")
    kistd.spawn()
    wait_until_listening(kistd)
    if '"ok":true' not in ask_as_user(kistd):
        raise RuntimeError(f"kistd does not serve its user: {kistd.said()}")
    # kistd first writes all pending lines of its audit log.
    ask_as_user(kistd, '{"op":"audit"}')
    (folder / place).rename(folder / f"{place}.moved")
    OBSTACLES[name](folder / place)
    os.chown(folder / place, owner(name), owner(name), follow_symlinks=False)

    def guarded():
        return {path: each for path, each in state(folder).items() if path in (place, "precious", "nowhere", "directory")}
    before = guarded()
    kistd.process.send_signal(signal.SIGHUP)
    for _ in range(2):
        if not (answer := ask_as_user(kistd)).startswith("sent\n{"):
            row.wrong.append(f"{case}: a request received {answer}: {kistd.said()[-300:]}")
    if (status := kistd.stop()) != 0:
        row.wrong.append(f"{case}: kistd ended with {status}: {kistd.said()[-300:]}")
    if (after := guarded()) != before:
        row.wrong.append(f"{case}: changed {before.items() ^ after.items()}")
    row.tries += 1


def ask_as_user(kistd, line=stranger.LINE):
    """Sends a request as a process of the user; returns what the process printed."""
    asking = ["/usr/bin/python3", STRANGER, "user", kistd.socket, line]
    return subprocess.run(asking, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def state(folder):
    """Returns each path with its owner, its mode and its content."""
    def look(path):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        else:
            content = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
        return status.st_uid, status.st_mode, content
    return {str(path.relative_to(folder)): look(path) for path in sorted(folder.rglob("*"))}
