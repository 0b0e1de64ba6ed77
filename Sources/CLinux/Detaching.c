#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

// Waits for a byte from the child, or for its end, and ends with its status.
static _Noreturn void end_like(pid_t child, int starter) {
  char byte;
  if (TEMP_FAILURE_RETRY(read(starter, &byte, 1)) == 1) _exit(0);
  int status = 0;
  (void)TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int kist_detach(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t child = fork();
  if (child > 0) {
    close(ends[1]);
    end_like(child, ends[0]);
  }
  int error = errno;
  close(ends[0]);
  if (child < 0) {
    close(ends[1]);
    errno = error;
    return -1;
  }
  setsid();
  return ends[1];
}
