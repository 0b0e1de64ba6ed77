// Another program of the same user. It opens the memory of a program while the program starts, and reads it once the
// program has closed its memory to others.
//
// watcher TRIES NAMESPACE PROGRAM WORDS…
//
// NAMESPACE is 1 to run the program in its own user namespace, as the service does. The program must wait for its standard
// input. Prints the number of tries in which the memory was read.
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_to(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) < 0) err(2, "%s", path);
  close(file);
}

// Enters a namespace with the user's own IDs, as systemd creates it for PrivateUsers=.
static void enter_namespace(void) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u %u 1", getuid(), getuid());
  snprintf(groups, sizeof groups, "%u %u 1", getgid(), getgid());
  if (unshare(CLONE_NEWUSER) != 0) err(2, "unshare");
  write_to("/proc/self/uid_map", users);
  write_to("/proc/self/setgroups", "deny");
  write_to("/proc/self/gid_map", groups);
}

static pid_t start(char **words, int in_namespace, int input) {
  pid_t pid = fork();
  if (pid < 0) err(2, "fork");
  if (pid > 0) return pid;
  int null = open("/dev/null", O_RDWR);
  if (dup2(input, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(3);
  if (in_namespace) enter_namespace();
  execv(words[0], words);
  _exit(3);
}

// A descriptor refers to the memory that the process had when it was opened, so this keeps the newest one. A descriptor
// from before execve(2) reads nothing afterwards.
static int watch(pid_t pid) {
  char path[32], byte;
  int newest = -1;
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  for (int memory; (memory = open(path, O_RDONLY | O_CLOEXEC)) >= 0; newest = memory) {
    if (newest >= 0) close(newest);
  }
  if (errno != EACCES) err(2, "%s", path);
  // Without randomisation, the stacks of all programs end at the same address, with the path of the program.
  int is_read = pread(newest, &byte, 1, (off_t)getauxval(AT_EXECFN)) == 1;
  close(newest);
  return is_read;
}

int main(int count, char **words) {
  if (count < 4) errx(2, "usage: watcher TRIES NAMESPACE PROGRAM WORDS…");
  int before = personality(0xffffffff);
  if (!(before & ADDR_NO_RANDOMIZE)) {
    personality(before | ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", words);
    err(2, "/proc/self/exe");
  }
  int tries = atoi(words[1]), reading = 0;
  // Limits the watch of a program that does not close its memory.
  alarm(600);
  for (int i = 0; i < tries; i++) {
    int input[2];
    if (pipe2(input, O_CLOEXEC) != 0) err(2, "pipe2");
    pid_t pid = start(words + 3, atoi(words[2]), input[0]);
    reading += watch(pid);
    if (waitpid(pid, NULL, WNOHANG) != 0) errx(2, "%s has ended", words[3]);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(input[0]);
    close(input[1]);
  }
  printf("%d\n", reading);
}
