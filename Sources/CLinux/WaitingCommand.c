#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

// The child runs these after fork(2) with only one thread. They call only what a signal handler may
// call.

// Resets the signal handlers, which write into a pipe that the parent reads.
static void take_handlers_off(void) {
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action;
    // An ignored signal stays ignored for the command, except SIGPIPE, which kistd itself ignores.
    if (sigaction(number, NULL, &action) == 0
        && (action.sa_handler != SIG_IGN || number == SIGPIPE)) {
      signal(number, SIG_DFL);
    }
  }
}

static void become_command(int starter, char *const *words, char *const *environment) {
  take_handlers_off();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  char word;
  if (TEMP_FAILURE_RETRY(read(starter, &word, 1)) != 1) _exit(0);
  execvpe(words[0], words, environment);
  int error = errno;
  if (write(starter, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

pid_t kist_fork_command(char *const *words, char *const *environment, int *starter) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  // Blocks all signals, so that no handler runs in the child before it has reset them.
  sigset_t all, mask;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask);
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    become_command(ends[1], words, environment);
  }
  int error = errno;
  sigprocmask(SIG_SETMASK, &mask, NULL);
  close(ends[1]);
  if (pid < 0) close(ends[0]);
  *starter = ends[0];
  errno = error;
  return pid;
}

int kist_start_command(int starter) {
  int error = 0;
  (void)TEMP_FAILURE_RETRY(send(starter, "", 1, MSG_NOSIGNAL));
  // A successful exec closes the child's end, so nothing is read.
  ssize_t count = TEMP_FAILURE_RETRY(recv(starter, &error, sizeof error, MSG_WAITALL));
  return count == sizeof error ? error : 0;
}
