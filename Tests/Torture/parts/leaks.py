"""Secrets in transit: what other programs of the user can see, and what crashes, files, output and child processes reveal."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

from frame import calls
from frame.context import TORTURE
from frame.kistd import Kistd
from frame.row import Row
from frame.tracer import Calls, Tracer
from hostile import stranger
from scan.errors import requests
from scan.forms import text
from scan.marks import Marks

AS_USER = ("setpriv", f"--reuid={stranger.USER}", f"--regid={stranger.USER}", "--clear-groups")
PATIENCE = 20
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGFPE, signal.SIGQUIT)
# Swift's runtime would start this program on a crash, to print registers and memory.
BACKTRACER = "#!/bin/sh\necho registers >&2\nkill -KILL $PPID\n"
# A command of kistd, which reads a secret from its first line. It lists the descriptors of ls, one of which is the folder.
COMMAND = """
IFS= read -r secret; printf %s "$secret" | kist save given; unset secret
kist load given | wc -c; kist status; kist list; kist audit; env; echo descriptors $(ls /proc/self/fd)
kist run --env GIVEN=kist://given -- sh -c 'echo ready; read end'
"""
# The calls by which kistd writes, whose data the tracer records; and all calls that can write.
WRITTEN_BY = ("openat", "write", "writev", "pwrite64")
WRITING = calls.numbers(" ".join(WRITTEN_BY) + " open creat pwritev pwritev2 sendfile splice copy_file_range")
# All files that kistd creates.
FILES = {"credentials.db", "credentials.db-wal", "credentials.db.lock", "key", "audit.jsonl", "audit.jsonl.mark", "kist.sock.lock",
         "storage", "progress", "served", "served.users"}


def run(context):
    if os.geteuid() != 0:
        raise RuntimeError("this needs root, to run programs as the user")
    context.folder.chmod(0o711)
    for look in (onlookers, starts, crashes, writing, handing_on):
        row, began = Row(what=look.__doc__.rstrip(".")), time.monotonic()
        look(row, context)
        row.seconds = time.monotonic() - began
        yield row


def owned_folder(context, name):
    folder = context.folder / name
    folder.mkdir(mode=0o700)
    os.chown(folder, stranger.USER, stranger.USER)
    return folder


class SilentBus:
    """A session bus that never answers, so that kist-secret-service waits for it."""

    def __init__(self, folder):
        self.address = f"unix:path={folder}/bus"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(folder / "bus"))
        (folder / "bus").chmod(0o666)
        self.socket.listen()
        # Only the latest programs still run.
        self.clients = deque(maxlen=8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            self.clients.append(self.socket.accept()[0])


def programs(context, owner=0, mode=0o711):
    """Copies the programs to where the user can run them, by default with the modes of `make install` by root."""
    copies = context.folder / f"bin-{owner}-{mode:o}"
    if not copies.exists():
        copies.mkdir(mode=0o755)
        for program in (context.kistd, context.kist, context.binaries / "kist-secret-service"):
            copy = shutil.copy(program, copies)
            os.chown(copy, owner, owner)
            os.chmod(copy, mode)
    return copies


class Helper:
    """A kist that has read half of a line with a secret."""

    def __init__(self, context, secret, **more):
        command = [*more.pop("under", ()), programs(context) / "kist", "helper", "cargo"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.process.stdout.readline()
        self.process.stdin.write(b'{"v":1,"kind":"login","token":"' + secret)
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.process.wait()


def onlookers(row, context):
    """Another program of the same user looks into kistd, kist and kist-secret-service."""
    marks = Marks(context.random("onlookers"))
    kistd = Kistd(programs(context) / "kistd", owned_folder(context, "onlookers"), under=AS_USER)
    kistd.start().close()
    # As in the service, installed by root.
    service = Kistd(programs(context) / "kistd", owned_folder(context, "service"),
                    under=(*AS_USER, "unshare", "--user", f"--map-user={stranger.USER}"))
    service.start().close()
    helper = Helper(context, marks.secret(100), under=AS_USER)
    home = owned_folder(context, "bus")
    bus = SilentBus(home)
    provider = subprocess.Popen([*AS_USER, programs(context) / "kist-secret-service"],
                                env={"HOME": str(home), "DBUS_SESSION_BUS_ADDRESS": bus.address})
    await_that(lambda: bus.clients)
    other = subprocess.Popen([*AS_USER, "sleep", "1000"])
    try:
        await_that(lambda: "sleep" in Path(f"/proc/{other.pid}/comm").read_text())
        closed = [name for name, is_open in look_into(other.pid).items() if not is_open]
        if closed:
            raise RuntimeError(f"even a program without protection cannot be inspected: {closed}")
        seen = {"kistd": kistd.process, "kistd as a service": service.process, "kist": helper.process,
                "kist-secret-service": provider}
        for name, process in seen.items():
            for way, is_open in look_into(process.pid).items():
                row.tries += 1
                row.got_in += [f"{name}: {way}"] * is_open
    finally:
        other.kill()
        other.wait()
        provider.kill()
        provider.wait()
        helper.close()
        service.stop()
        kistd.stop()


# The arguments that make each program wait, for input or for the session bus; and how it is installed: its owner, its mode, and
# whether it runs in a namespace, as the services do.
WAITING = {"kist": ("helper", "cargo"), "kistd": ("--passphrase-fd", "0"), "kist-secret-service": ()}
BY_HAND, AS_SERVICE = [(0, 0o711, 0), (stranger.USER, 0o111, 0)], [(0, 0o711, 1)]
INSTALLED = {"kist": BY_HAND, "kistd": BY_HAND + AS_SERVICE, "kist-secret-service": BY_HAND + AS_SERVICE}


def starts(row, context):
    """Another program of the same user opens the memory of kistd, kist and kist-secret-service while they start."""
    watcher = context.compile(Path("hostile/watcher.c"))
    home = owned_folder(context, "starts")
    bus = SilentBus(home)

    def reads(tries, name, owner, mode, in_namespace):
        command = [*AS_USER, watcher, str(tries), str(in_namespace), programs(context, owner, mode) / name, *WAITING[name]]
        return int(subprocess.check_output(command, cwd=home, env={"HOME": str(home), "DBUS_SESSION_BUS_ADDRESS": bus.address}))

    tries = 25 if context.short else 1000
    for name, owner, mode, in_namespace in [(name, *how) for name, ways in INSTALLED.items() for how in ways]:
        if not any(reads(25, name, 0, 0o755, in_namespace) for _ in range(100)):
            raise RuntimeError(f"the watcher cannot read a {name} that the user can read")
        row.tries += tries
        if got := reads(tries, name, owner, mode, in_namespace):
            row.got_in.append(f"{name} of user {owner}, mode {mode:o}, namespace {in_namespace}: in {got} of {tries} starts")


def look_into(pid):
    command = [sys.executable, "-m", "hostile.onlooker", str(stranger.USER), str(pid)]
    return json.loads(subprocess.check_output(command, cwd=TORTURE))


def await_that(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("a condition was not met in time")
        time.sleep(0.005)


def crashes(row, context):
    """kistd and kist crash while they hold a secret, with core files and backtraces of Swift enabled."""
    marks = Marks(context.random("crashes"))
    folder = owned_folder(context, "crashes")
    backtracer = context.folder / "backtracer"
    backtracer.write_text(BACKTRACER)
    backtracer.chmod(0o755)
    backtraces = {"SWIFT_BACKTRACE": f"enable=yes,color=no,swift-backtrace={backtracer}"}
    options = {"cwd": folder, "preexec_fn": allow_core_files, "stderr": subprocess.PIPE}
    for number in CRASHES:
        kistd = Kistd(programs(context) / "kistd", folder / f"kistd{number}", **backtraces)
        kistd.folder.mkdir(exist_ok=True)
        with subprocess.Popen(kistd.command, env=kistd.environment, stdin=subprocess.DEVNULL, **options) as process:
            kistd.process = process
            with kistd.connect() as connection:
                connection.ask(op="hello")
                connection.stream.sendall(b'{"op":"save",' + text(marks.secret(3000)))
                # kistd has read that line once it answers here.
                with kistd.connect() as other:
                    other.ask(op="hello")
                crash(row, "kistd", process, number, marks)
        helper = Helper(context, marks.secret(3000), env=os.environ | backtraces, **options)
        crash(row, "kist", helper.process, number, marks)
        helper.process.communicate()
    files = [path for path in folder.rglob("*") if "core" in path.name and path.is_file()]
    row.wrong += [f"{path.name} was left behind" for path in files]
    other = subprocess.Popen(["sleep", "1000"], **options)
    row.note = "" if dumps(other, signal.SIGSEGV) else "no program leaves a core file here"
    other.communicate()


def allow_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    # Background processes of a script ignore these signals, and so do their children.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def dumps(process, number):
    """Whether a program leaves a core file when a signal ends it."""
    await_that(lambda: Path(f"/proc/{process.pid}/comm").read_text().strip() in ("kistd", "kist", "sleep"))
    process.send_signal(number)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return os.WCOREDUMP(status)


def crash(row, name, process, number, marks):
    row.tries += 1
    if dumps(process, number):
        row.wrong.append(f"{name} left a core file after signal {number}")
    if process.returncode != -number:
        row.wrong.append(f"{name} ended with {process.returncode} after signal {number}")
    said = process.stderr.read()
    if b"registers" in said or b"Backtracing" in said or list(marks.find(said)):
        row.wrong.append(f"{name} printed after signal {number}: {said[:300]}")


def writing(row, context):
    """All that kistd writes and answers while it handles secrets, including errors of every kind."""
    marks = Marks(context.random("writing"))
    counted = Calls(of_files=frozenset(WRITING), of_others=frozenset(WRITING))
    tracer = Tracer(context.compile(Path("tracer/tracer.c")), context.folder, counted, from_hardening=True)
    kistd = Kistd(context.kistd, context.folder / "writing", "--log-level", "trace", under=tracer.under)
    with kistd.start() as connection:
        for size in (20, 5000, 500_000):
            connection.ask(op="save", service="written", account=str(size), secret=marks.secret(size).decode())
            connection.ask(op="save", service="written", account="again", secret=marks.secret(size).decode())
            check_said(row, marks, "status", connection.ask(op="status"))
            check_said(row, marks, "find", connection.ask(op="find"))
        for what, _, line in requests(marks.secret):
            with kistd.connect() as other:
                other.stream.sendall(line + b"\n")
                check_said(row, marks, what, other.receive())
        connection.ask(op="lock")
        check_said(row, marks, "unlock", connection.ask(op="unlock", passphrase=marks.secret(100).decode()))
        check_said(row, marks, "audit", connection.ask(op="audit", limit=100))
    os.kill(tracer.control.pid, signal.SIGTERM)
    kistd.wait()
    made, is_audited = set(), False
    for event in tracer.events():
        if event.ends:
            continue
        row.tries += 1
        row.wrong += [f"{each.size} bytes of a secret are written by {event.name}" for each in marks.find(event.payload)]
        is_audited |= b'"operation":"save"' in event.payload
        if event.name == "openat" and event.arguments[2] & os.O_CREAT:
            made.update(event.paths)
        elif event.name not in WRITTEN_BY:
            row.wrong.append(f"kistd writes by {event}")
    if not made or not is_audited:
        raise RuntimeError("the writes of kistd were not recorded")
    row.wrong += [f"kistd creates {path}" for path in made if not is_expected(Path(path), kistd.folder)]
    for path in kistd.folder.rglob("*"):
        if path.is_file():
            row.tries += 1
            row.wrong += [f"{each.size} bytes of a secret are in {path.name}" for each in marks.find(path.read_bytes())]


def is_expected(path, folder):
    """Returns whether kistd should create a file, possibly with a temporary name."""
    name = re.sub("^progress-[0-9a-f]{32}", "progress", path.name)
    return folder in path.parents and name.split(".new")[0] in FILES


def check_said(row, marks, what, reply):
    row.tries += 1
    row.wrong += [f"the answer to {what} contains {each.size} bytes of a secret" for each in marks.find(json.dumps(reply).encode())]


def handing_on(row, context):
    """The arguments, the environment and the descriptors of every process while kistd runs a command."""
    marks = Marks(context.random("handing on"))
    passphrase, secret = marks.secret(60), marks.secret(400)
    kistd = Kistd(context.kistd, context.folder / "handing-on", PATH=f"{context.binaries}:{os.environ['PATH']}")
    del kistd.command[kistd.command.index("--key-file"):][:2]
    reading, giving = os.pipe()
    os.write(giving, passphrase)
    os.close(giving)
    command = [*kistd.command, "--passphrase-fd", str(reading), "--", "sh", "-c", COMMAND]
    with subprocess.Popen(command, env=kistd.environment, pass_fds=[reading], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        os.close(reading)
        process.stdin.write(secret + b"\n")
        process.stdin.flush()
        said = b""
        while not said.endswith(b"ready\n"):
            if not (line := process.stdout.readline()):
                raise RuntimeError(f"the command ended: {said}")
            said += line
        given = look_at_processes(row, marks)
        process.stdin.close()
        said += process.stdout.read()
    if len(given) != 1 or given[0] != f"GIVEN={secret.decode()}".encode():
        row.wrong.append(f"{len(given)} variables contain a secret, not only the one of the command")
    row.tries += said.count(b"\n")
    row.wrong += [f"{each.size} bytes of a secret are printed" for each in marks.find(said)]
    if b"descriptors 0 1 2 3\n" not in said:
        row.wrong.append(f"the command has other descriptors than its own: {said[:200]}")


def look_at_processes(row, marks):
    """Returns the variables of all processes that contain secrets."""
    given = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue  # The process has ended, or even root may not read it.
        row.tries += 1
        row.wrong += [f"{each.size} bytes of a secret are in the arguments of a process" for each in marks.find(words)]
        given += [each for each in variables.split(b"\0") if list(marks.find(each))]
    return given
