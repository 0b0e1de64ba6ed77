// spawn COUNT INPUT COMMAND [ARGUMENT…]: repeatedly runs a command with a file as its standard input and
// discards its output. Measures each run from before its creation until it is reaped.

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samples.h"

extern char **environ;

static void run(char **command, const posix_spawn_file_actions_t *actions) {
  pid_t child;
  int status;
  int failure = posix_spawn(&child, command[0], actions, NULL, command, environ);
  if (failure) errx(1, "%s: %s", command[0], strerror(failure));
  if (waitpid(child, &status, 0) != child) err(1, "waitpid");
  if (!WIFEXITED(status) || WEXITSTATUS(status)) errx(1, "%s failed", command[0]);
}

int main(int argc, char **argv) {
  if (argc < 4) errx(64, "usage: spawn COUNT INPUT COMMAND [ARGUMENT…]");
  size_t count = count_from(argv[1]);
  uint64_t *samples = samples_of(count);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, argv[2], O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

  for (size_t round = 0; round < count; round++) {
    uint64_t start = nanoseconds();
    run(argv + 3, &actions);
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
