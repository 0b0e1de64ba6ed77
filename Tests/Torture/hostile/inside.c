// A library for LD_PRELOAD that tries calls inside of a confined kistd, as an attacker who took it over.
//
// Once kistd waits for its first event, it appends a line to the file REPORT for each call: its name and its error number, or 0.
// OUTSIDE is a directory with the file `file`. The parent listens on the abstract socket ABSTRACT.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int report;

static void note(const char *name, long result) {
  dprintf(report, "%s %d\n", name, result < 0 ? errno : 0);
}

static long child(long result) {
  if (result == 0) _exit(0);
  return result;
}

static long connect_to_abstract(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
  return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, size);
}

static void try_calls(void) {
  const char *outside = getenv("OUTSIDE");
  char file[4096], new[4096];
  snprintf(file, sizeof file, "%s/file", outside);
  snprintf(new, sizeof new, "%s/new", outside);
  report = open(getenv("REPORT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (report < 0) return;
  note("file:read", open(file, O_RDONLY));
  note("file:write", open(file, O_WRONLY));
  note("file:create", open(new, O_WRONLY | O_CREAT, 0600));
  note("file:mkdir", mkdir(new, 0700));
  note("file:symlink", symlink("file", new));
  note("file:unlink", unlink(file));
  note("file:passwd", open("/etc/passwd", O_RDONLY));
  note("scope:signal", kill(getppid(), 0));
  note("scope:abstract", connect_to_abstract(getenv("ABSTRACT")));
  struct io_uring_params parameters = {0};
  struct rlimit limit;
  note("call:socket", socket(AF_INET, SOCK_STREAM, 0));
  note("call:mmap", mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
  note("call:prlimit", prlimit(getppid(), RLIMIT_NOFILE, 0, &limit));
  note("call:ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
  note("call:unshare", unshare(CLONE_NEWUSER));
  note("call:io_uring_setup", syscall(SYS_io_uring_setup, 4, &parameters));
  note("call:add_key", syscall(SYS_add_key, "user", "kist", "x", 1, -3));
  note("call:fork", child(syscall(SYS_clone, 17, 0, 0, 0, 0)));
  // Last, as it would end kistd.
  note("call:execve", execl("/bin/true", "true", (char *)0));
  close(report);
}

int epoll_wait(int descriptor, struct epoll_event *events, int most, int timeout) {
  static int (*real)(int, struct epoll_event *, int, int);
  static int tried;
  if (!__sync_lock_test_and_set(&tried, 1)) try_calls();
  if (!real) real = dlsym(RTLD_NEXT, "epoll_wait");
  return real(descriptor, events, most, timeout);
}
