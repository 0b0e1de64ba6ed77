"""The system calls of x86-64 that kistd makes, grouped by purpose."""

import re
from pathlib import Path

HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
NUMBERS = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text())}
NAMES = {number: name for name, number in NUMBERS.items()}


def numbers(text):
    return {NUMBERS[name] for name in text.split()}


# Their first argument is a descriptor.
OF_DESCRIPTORS = numbers(
    "read write close fstat lseek pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 sendfile fsync fdatasync "
    "ftruncate fallocate fadvise64 fcntl flock getdents64 fchmod fchown futimesat fchdir sync_file_range ioctl "
    "bind listen accept accept4 connect shutdown getsockname getpeername getsockopt setsockopt "
    "sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg epoll_ctl epoll_wait epoll_pwait dup dup2 dup3 "
    "timerfd_settime copy_file_range")

# On descriptors of files and directories, and on paths.
OF_FILES = numbers(
    "read write close fstat lseek pread64 pwrite64 readv writev preadv pwritev fsync fdatasync ftruncate fallocate fcntl "
    "flock getdents64 fchmod fchown "
    "open openat creat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat chmod fchmodat "
    "mkdir mkdirat rmdir rename renameat renameat2 link linkat unlink unlinkat symlink symlinkat truncate chown fchownat "
    "utimensat")

# Calls that may find a disk full. A flush is the last call that can report it.
THAT_TAKE_SPACE = numbers(
    "write pwrite64 writev pwritev ftruncate fallocate mkdir mkdirat rename renameat renameat2 link linkat fsync fdatasync")
THAT_CREATE = numbers("openat")
THAT_NAME = numbers("rename renameat renameat2 link linkat")

# A signal may interrupt these on a socket, see signal(7).
THAT_WAIT = numbers("read write readv writev sendto recvfrom sendmsg recvmsg accept accept4 epoll_wait epoll_pwait")

OF_MEMORY = numbers("mmap mprotect brk mremap madvise mlock")

THAT_READ_OR_WRITE_A_BUFFER = numbers("read write pread64 pwrite64")
FLUSHES = numbers("fsync fdatasync")
