#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: - Landlock

// The kernel headers are too old: those of Debian 12 have the first two versions of Landlock, those
// of Debian 13 the sixth.
struct rule_set {
  uint64_t access_of_files;
  uint64_t access_of_network;
  uint64_t scopes;
};
struct __attribute__((packed)) rule_of_path {
  uint64_t allowed;
  int32_t parent;
};
enum { CREATE_RULE_SET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };  // on every architecture
enum { VERSION_FLAG = 1, RULE_OF_PATH = 1 };
static const uint64_t bind_and_connect = 3;

static uint64_t rights_known_to(int version) {
  int bits = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return ((uint64_t)1 << bits) - 1;
}

int kist_landlock_version(void) {
  return (int)syscall(CREATE_RULE_SET, NULL, 0, VERSION_FLAG);
}

int kist_landlock_rules(int version, uint64_t scopes) {
  struct rule_set rules = {.access_of_files = rights_known_to(version)};
  if (version >= 4) rules.access_of_network = bind_and_connect;
  if (version >= 6) rules.scopes = scopes;
  // An older kernel accepts a longer structure if the rest is zero.
  return (int)syscall(CREATE_RULE_SET, &rules, sizeof rules, 0);
}

int kist_landlock_allow(int rules, int version, const char *path, uint64_t rights) {
  int kind = rights & ~(kist_may_read | kist_may_write) ? O_DIRECTORY : 0;
  int parent = open(path, O_PATH | O_CLOEXEC | kind);
  if (parent < 0) return -1;
  struct rule_of_path rule = {.allowed = rights & rights_known_to(version), .parent = parent};
  int result = (int)syscall(ADD_RULE, rules, RULE_OF_PATH, &rule, 0);
  int error = errno;
  close(parent);
  errno = error;
  return result;
}

int kist_landlock_restrict(int rules) { return (int)syscall(RESTRICT_SELF, rules, 0); }

// MARK: - Seccomp

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "name the AUDIT_ARCH_ of this architecture, which must be of 64 bits and little-endian"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(comparison, value, yes, no) BPF_JUMP(BPF_JMP | BPF_K | (comparison), value, yes, no)
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define PASS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
// Skips the instructions of a rule, unless the rule is for this call.
#define RULE(name, length) IF(BPF_JEQ, __NR_##name, 0, length)
#define ALLOW(name) RULE(name, 1), PASS,

static const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC
  | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
// The newest call that glibc 2.36 and systemd 252 know, among those with one number on all
// architectures.
enum { NEWEST_CALL = 450 };

int kist_confine_calls(void) {
  // The kernel caches which calls the filter always allows, and then does not run it for them. A
  // long list therefore does not slow down a read or a write (Linux 5.11 or later).
  struct sock_filter filter[] = {
    LOAD(arch), IF(BPF_JEQ, ARCHITECTURE, 1, 0), FAIL(EPERM),
    LOAD(nr),
#ifdef __x86_64__
    IF(BPF_JGE, 0x40000000, 0, 1), FAIL(EPERM),  // x32
#endif
    // The C library tries new calls first, and uses the old ones only after this error.
    IF(BPF_JGT, NEWEST_CALL, 0, 1), FAIL(ENOSYS),
    // Its flags are in memory, where a filter cannot read them. After this error the library calls
    // clone.
    RULE(clone3, 1), FAIL(ENOSYS),
    // libdispatch sets priorities for its threads, and writes each failure to the system's log. This
    // reports success, and changes nothing.
    RULE(setpriority, 1), FAIL(0),
    // Allows only threads, not processes or namespaces.
    RULE(clone, 5), LOAD(args[0]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, CLONE_THREAD | namespaces),
      IF(BPF_JEQ, CLONE_THREAD, 1, 0), FAIL(EPERM), PASS,
    RULE(mmap, 4), LOAD(args[2]), IF(BPF_JSET, PROT_EXEC, 0, 1), FAIL(EPERM), PASS,
    RULE(mprotect, 4), LOAD(args[2]), IF(BPF_JSET, PROT_EXEC, 0, 1), FAIL(EPERM), PASS,
    RULE(socket, 4), LOAD(args[0]), IF(BPF_JEQ, AF_UNIX, 1, 0), FAIL(EPERM), PASS,
    RULE(socketpair, 4), LOAD(args[0]), IF(BPF_JEQ, AF_UNIX, 1, 0), FAIL(EPERM), PASS,
    // Allows only this process's own limits, not those of another process of the user.
    RULE(prlimit64, 4), LOAD(args[0]), IF(BPF_JEQ, 0, 1, 0), FAIL(EPERM), PASS,
    // These two inject input into the terminal that kistd was started in.
    RULE(ioctl, 5), LOAD(args[1]), IF(BPF_JEQ, TIOCSTI, 1, 0), IF(BPF_JEQ, TIOCLINUX, 0, 1),
      FAIL(EPERM), PASS,
#include "calls.h"
    FAIL(EPERM),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  // Applies to all threads, including those that a sanitizer has started.
  return (int)syscall(
      __NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int kist_forbid_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
