#define _GNU_SOURCE
#include "CCalls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int kist_call(long number, long a, long b, long c, long d, long e) {
  pid_t self = (pid_t)syscall(SYS_getpid);
  long result = syscall(number, a, b, c, d, e);
  if (syscall(SYS_getpid) != self) _exit(0);
  return result < 0 ? errno : 0;
}

#define REFUSE(name) BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, SYS_##name, 0, 1), refusal

int kist_refuse_confinement(int error) {
  struct sock_filter refusal = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    REFUSE(seccomp), REFUSE(landlock_create_ruleset), REFUSE(landlock_add_rule), REFUSE(landlock_restrict_self),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
