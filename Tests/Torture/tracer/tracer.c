// Runs a program, and numbers and records the system calls of all its threads. Kills it at one of them, or makes
// that one fail. `tracer CONTROL LOG COMMAND…`: CONTROL describes the fault, see control.h.
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the tracer knows the registers of x86-64 only"
#endif

enum { THREADS = 256, LONGEST_PATH = 4096, LONGEST_PAYLOAD = 1 << 22 };

struct thread {
  pid_t id;
  // The call that has started.
  struct record record;
  // The fault at its end.
  enum action action;
};

static struct control *control;
static FILE *output;
static pid_t child;
static struct thread threads[THREADS];
static uint8_t payload[LONGEST_PAYLOAD];

static void fail(const char *what) {
  perror(what);
  exit(125);
}

/// Returns the entry of a thread, which may be new.
static struct thread *thread_of(pid_t id) {
  for (int i = 0; i < THREADS; i++)
    if (threads[i].id == id) return &threads[i];
  for (int i = 0; i < THREADS; i++)
    if (threads[i].id == 0) {
      threads[i] = (struct thread){.id = id};
      return &threads[i];
    }
  errno = ENOSPC;
  fail("tracer: threads");
  return NULL;
}

static size_t copy(pid_t thread, void *to, uint64_t from, size_t size) {
  struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
  ssize_t count = process_vm_readv(thread, &here, 1, &there, 1, 0);
  return count < 0 ? 0 : (size_t)count;
}

/// Copies a string with its end, page by page, as the next page may be unmapped.
static size_t copy_path(pid_t thread, uint8_t *to, uint64_t from) {
  size_t size = 0;
  while (size < LONGEST_PATH) {
    size_t page = 4096 - (from + size) % 4096;
    size_t count = copy(thread, to + size, from + size, page);
    uint8_t *end = memchr(to + size, 0, count);
    if (end) return (size_t)(end - to) + 1;
    if (count < page) break;
    size += count;
  }
  to[0] = 0;
  return 1;
}

static size_t copy_vector(pid_t thread, uint64_t vector, uint64_t count) {
  struct iovec parts[64];
  if (count > 64) count = 64;
  copy(thread, parts, vector, count * sizeof *parts);
  size_t size = 0;
  for (uint64_t i = 0; i < count && size + parts[i].iov_len <= LONGEST_PAYLOAD; i++)
    size += copy(thread, payload + size, (uintptr_t)parts[i].iov_base, parts[i].iov_len);
  return size;
}

static size_t copy_payload(pid_t thread, const struct record *record) {
  const int64_t *arguments = record->arguments;
  struct msghdr message = {0};
  size_t size;
  switch ((enum payload)control->payload[record->call]) {
  case NOTHING: return 0;
  case BUFFER:
    size = (size_t)arguments[2];
    return copy(thread, payload, (uint64_t)arguments[1], size < LONGEST_PAYLOAD ? size : LONGEST_PAYLOAD);
  case VECTOR: return copy_vector(thread, (uint64_t)arguments[1], (uint64_t)arguments[2]);
  case MESSAGE:
    copy(thread, &message, (uint64_t)arguments[1], sizeof message);
    return copy_vector(thread, (uintptr_t)message.msg_iov, message.msg_iovlen);
  case PATH_1: return copy_path(thread, payload, (uint64_t)arguments[0]);
  case PATH_2: return copy_path(thread, payload, (uint64_t)arguments[1]);
  case PATHS_1_2:
    size = copy_path(thread, payload, (uint64_t)arguments[0]);
    return size + copy_path(thread, payload + size, (uint64_t)arguments[1]);
  case PATHS_2_4:
    size = copy_path(thread, payload, (uint64_t)arguments[1]);
    return size + copy_path(thread, payload + size, (uint64_t)arguments[3]);
  }
  return 0;
}

/// Returns the kind of a descriptor, and its inode.
static enum kind look_at(int64_t descriptor, uint64_t *inode) {
  char path[64];
  struct stat status;
  struct statfs system;
  if (descriptor >= 0 && descriptor <= STDERR_FILENO) return OTHER;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", child, (int)descriptor);
  if (stat(path, &status) != 0) return OTHER;
  *inode = status.st_ino;
  if (S_ISSOCK(status.st_mode)) return SOCKET;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return OTHER;
  return statfs(path, &system) == 0 && system.f_type == PROC_SUPER_MAGIC ? OTHER : FILE_OR_DIRECTORY;
}

/// Returns the kind of a call whose path, if any, was copied.
static enum kind kind_of(struct record *record) {
  enum payload form = control->payload[record->call];
  if (control->takes_descriptor[record->call]) return look_at(record->arguments[0], &record->inode);
  if (form < PATH_1) return NO_DESCRIPTOR;
  const char *path = (const char *)payload;
  if (*path == 0) return look_at(record->arguments[0], &record->inode);
  // Files that the kernel generates do not fail as a disk does.
  static const char *const made_up[] = {"/proc/", "/sys/", "/dev/urandom", "/dev/random", "/dev/null", "/dev/tty"};
  for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
    if (strncmp(path, made_up[i], strlen(made_up[i])) == 0) return OTHER;
  bool is_creating = record->call == SYS_openat && record->arguments[2] & O_CREAT && access(path, F_OK) != 0;
  return is_creating ? CREATING : NO_DESCRIPTOR;
}

static void write_down(const struct record *record) {
  if (fwrite(record, sizeof *record, 1, output) != 1
      || fwrite(payload, 1, record->size, output) != record->size) fail("tracer: log");
}

static void set_register(pid_t thread, size_t offset, int64_t value) {
  // A thread that is being killed no longer exists.
  if (ptrace(PTRACE_POKEUSER, thread, offset, value) != 0 && errno != ESRCH) fail("tracer: register");
}

#define REGISTER(name) offsetof(struct user, regs.name)

static void skip(pid_t thread) { set_register(thread, REGISTER(orig_rax), -1); }

/// Handles the start of a call.
static void begin(struct thread *thread, const struct __ptrace_syscall_info *info) {
  struct record *record = &thread->record;
  *record = (struct record){.thread = thread->id, .call = (int32_t)info->entry.nr, .kind = NO_DESCRIPTOR};
  thread->action = NONE;
  if (info->entry.nr == SYS_prctl && info->entry.args[0] == PR_SET_DUMPABLE) {
    // Reports success without the call, so that its memory and descriptors stay open to this process.
    skip(thread->id);
    thread->action = FAIL;
    if (control->armed == 2) control->armed = 1;
    return;
  }
  if (control->armed != 1 || info->entry.nr >= CALLS) return;
  for (int i = 0; i < 6; i++) record->arguments[i] = (int64_t)info->entry.args[i];
  record->size = copy_payload(thread->id, record);
  record->kind = (uint8_t)kind_of(record);
  if (!(control->numbered[record->call] & record->kind)) return;
  record->number = ++control->count;
  record->hit = control->action != NONE && record->number >= control->first && record->number <= control->last
      && control->hittable[record->call] && control->hits < control->most;
  write_down(record);
  record->size = 0;
  if (!record->hit) return;
  control->hits++;
  thread->action = control->action;
  switch (thread->action) {
  case KILL_BEFORE:
    skip(thread->id);
    kill(child, SIGKILL);
    break;
  case FAIL:
    // The kernel closes a descriptor even if it reports a failure.
    if (record->call != SYS_close) skip(thread->id);
    break;
  case SHORTEN:
    if (record->arguments[2] > 1) set_register(thread->id, REGISTER(rdx), record->arguments[2] / 2);
    break;
  default: break;
  }
}

/// Handles the end of a call.
static void end(struct thread *thread, const struct __ptrace_syscall_info *info) {
  struct record *record = &thread->record;
  record->result = info->exit.rval;
  if (thread->action == FAIL) {
    record->result = record->hit ? -control->error : 0;
    set_register(thread->id, REGISTER(rax), record->result);
  }
  if (thread->action == FAIL_AFTER && record->result >= 0) {
    record->result = -control->error;
    set_register(thread->id, REGISTER(rax), record->result);
  }
  if (record->number == 0) return;
  if (record->call == SYS_openat && record->result >= 0) look_at(record->result, &record->inode);
  record->ends = 1;
  write_down(record);
  if (thread->action == KILL_AFTER) kill(child, SIGKILL);
  thread->action = NONE;
  record->number = 0;
}

/// Handles the stop of a thread; returns the signal to continue it with.
static int handle(pid_t id, int status) {
  int number = WSTOPSIG(status);
  bool is_new = true;
  for (int i = 0; i < THREADS && is_new; i++) is_new = threads[i].id != id;
  struct thread *thread = thread_of(id);
  if (number == (SIGTRAP | 0x80)) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, id, sizeof info, &info) <= 0) return 0;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) begin(thread, &info);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) end(thread, &info);
    return 0;
  }
  // A new thread begins with its own stop; other stops report events.
  if (status >> 16 || (is_new && number == SIGSTOP)) return 0;
  return number;
}

static void pass_on(int number) { kill(child, number); }

static void start(char **command) {
  child = fork();
  if (child < 0) fail("tracer: fork");
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(command[0], command);
    fail(command[0]);
  }
  int status;
  if (waitpid(child, &status, 0) != child) fail("tracer: waitpid");
  thread_of(child);
  control->pid = child;
  long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, child, 0, options) != 0) fail("tracer: options");
  signal(SIGTERM, pass_on);
  ptrace(PTRACE_SYSCALL, child, 0, 0);
}

int main(int count, char **words) {
  if (count < 4) return 64;
  int descriptor = open(words[1], O_RDWR | O_CLOEXEC);
  control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  output = fopen(words[2], "wbe");
  if (control == MAP_FAILED || output == NULL) fail("tracer");
  start(words + 3);
  int result = 0, status;
  pid_t id;
  while ((id = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
    if (id <= 0) continue;
    if (WIFSTOPPED(status)) {
      int number = handle(id, status);
      ptrace(PTRACE_SYSCALL, id, 0, number);
      continue;
    }
    thread_of(id)->id = 0;
    if (id == child) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  fclose(output);
  return result;
}
