"""Tries operations that a sandbox refuses, each in its own process, as some end the process.

Prints a line for each: the directive, the operation, and "allowed" or "refused".

Each operation must succeed outside of a sandbox, without privileges. Otherwise its refusal would
prove nothing. prepare.sh creates what the operations need.
"""

import ctypes
import mmap
import os
import platform
import socket
import stat
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
home = os.environ["HOME"]
# The directory that the sandbox allows to write to.
data = home + "/.local/share/kist"


class Refused(Exception):
    pass


def check(allowed):
    if not allowed:
        raise Refused()


def call(function, *arguments):
    """Calls a function of the C library that returns -1 on failure."""
    if function(*arguments) == -1:
        raise OSError(ctypes.get_errno(), function.__name__)


def write(path, mode=0o600):
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(b"probe")


def see_the_owner_of_another_home():
    check(os.stat("/home/bob").st_uid == 1001)


def have_a_capability_to_gain():
    line = next(line for line in open("/proc/self/status") if line.startswith("CapBnd"))
    check(int(line.split()[1], 16) != 0)


def become_root():
    check(subprocess.check_output(["/usr/local/bin/setuid-id", "-u"]) == b"0\n")


def make_a_file_that_others_read():
    path = data + "/" + str(os.getpid())
    write(path, 0o666)
    check(os.stat(path).st_mode & 0o077)


def write_where_all_may():
    write("/srv/probe-" + str(os.getpid()))


def write_to_the_home():
    write(home + "/probe")


def run_what_it_wrote():
    path = data + "/program"
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, 0o700)
    subprocess.check_call([path])


def read_temporary_files():
    os.stat("/tmp/probe")


def open_a_device():
    open("/dev/probe").close()


def reach_an_abstract_socket():
    socket.socket(socket.AF_UNIX).connect("\0kist-probe")


def open_shared_memory():
    call(libc.shmget, 0x6B697374, 0, 0)


def write_to_memory_that_all_share():
    write("/dev/shm/probe-" + str(os.getpid()))


def make_a_program_in_memory():
    os.close(os.memfd_create("probe"))


def change_its_control_group():
    path = next(line for line in open("/proc/self/cgroup") if line.startswith("0::"))
    os.mkdir("/sys/fs/cgroup" + path[3:].strip() + "/probe")


def read_the_modules():
    open("/usr/lib/modules/probe").close()


def read_the_addresses_of_the_kernel():
    open("/proc/kallsyms").close()


def make_a_network_socket():
    socket.socket(socket.AF_INET).close()


def make_a_namespace():
    call(libc.unshare, 0x10000000)  # CLONE_NEWUSER


def ask_for_real_time():
    # The kernel refuses the priority; a sandbox refuses to ask.
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1000))
    except OSError as error:
        check(error.strerror == "Invalid argument")


def make_a_setuid_file():
    write(data + "/setuid")
    os.chmod(data + "/setuid", 0o4700)
    check(os.stat(data + "/setuid").st_mode & stat.S_ISUID)


def change_its_personality():
    call(libc.personality, 0x0040000)  # ADDR_NO_RANDOMIZE


def map_writable_code():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def call_as_a_32_bit_program():
    # mov $20, %eax; int $0x80; ret: getpid(2) of i386. The code is mapped from a file, so that no
    # memory is both writable and executable.
    path = data + "/code"
    with open(path, "wb") as file:
        file.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]) * 512)
    with open(path, "rb") as file:
        address = libc.mmap(None, ctypes.c_size_t(4096), 5, 2, file.fileno(), ctypes.c_long(0))
    check(address != ctypes.c_void_p(-1).value)
    check(ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid())


def be_traced():
    call(libc.ptrace, 0, 0, 0, 0)  # PTRACE_TRACEME


def change_its_priority():
    os.nice(1)


probes = [
    ("PrivateUsers", see_the_owner_of_another_home),
    ("CapabilityBoundingSet", have_a_capability_to_gain),
    ("NoNewPrivileges", become_root),
    ("UMask", make_a_file_that_others_read),
    ("ProtectSystem", write_where_all_may),
    ("ProtectHome", write_to_the_home),
    ("NoExecPaths", run_what_it_wrote),
    ("PrivateTmp", read_temporary_files),
    ("PrivateDevices", open_a_device),
    ("PrivateIPC", open_shared_memory),
    ("InaccessiblePaths", write_to_memory_that_all_share),
    ("PrivateNetwork", reach_an_abstract_socket),
    ("ProtectControlGroups", change_its_control_group),
    ("ProtectKernelModules", read_the_modules),
    ("ProtectKernelTunables", read_the_addresses_of_the_kernel),
    ("RestrictAddressFamilies", make_a_network_socket),
    ("RestrictNamespaces", make_a_namespace),
    ("RestrictRealtime", ask_for_real_time),
    ("RestrictSUIDSGID", make_a_setuid_file),
    ("LockPersonality", change_its_personality),
    ("MemoryDenyWriteExecute", map_writable_code),
    ("SystemCallFilter", be_traced),
    ("SystemCallFilter", change_its_priority),
    ("SystemCallFilter", make_a_program_in_memory),
]
if platform.machine() == "x86_64":
    probes.append(("SystemCallArchitectures", call_as_a_32_bit_program))

for directive, probe in probes:
    child = os.fork()
    if child == 0:
        try:
            probe()
            os._exit(0)
        except Exception as error:
            sys.stderr.write(f"{probe.__name__}: {type(error).__name__}: {error}\n")
            os._exit(1)
    # The sandbox also refuses by killing the process.
    answer = "allowed" if os.waitpid(child, 0)[1] == 0 else "refused"
    print(directive, probe.__name__, answer, flush=True)
