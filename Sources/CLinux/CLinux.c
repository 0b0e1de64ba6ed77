#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// Opened once and never closed: a handler that runs on another thread while signals are given back writes
// into it later, when the number of a descriptor that was closed may be that of another file.
static int mailbox[2] = {-1, -1};
// A handler runs on any thread, and beside others that use these: sig_atomic_t is for one thread.
static atomic_int is_handed_over;
static atomic_int receiver;
// How many are between reading the receiver and the last signal to it.
static atomic_int deliveries;
// A bit for each signal that came and was given to nobody.
static atomic_uint waiting;
// A bit for each signal that came at all.
static atomic_uint came;
static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static const size_t number_of_signals = sizeof signals / sizeof *signals;
// Those before this one ask a process to end.
static const size_t number_of_ending_signals = 4;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may use atomics without a lock only");

void kist_share_memory(void) { mallopt(M_ARENA_MAX, 1); }

void kist_give_back_memory(void) { malloc_trim(0); }

int kist_execvpe(const char *file, char *const *words, char *const *environment) {
  return execvpe(file, words, environment);
}

int kist_open_unnamed(const char *folder) {
  return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  remove(path);
  return 0;
}

void kist_remove_directory(const char *path) {
  nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void kist_default_crash_signals(void) {
  static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction action;
    // What is ignored stays so: a shell starts its jobs in the background without SIGQUIT.
    if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
      signal(signals[i], SIG_DFL);
    }
  }
}

// Whoever comes second, the signal or its receiver, finds the other: each writes before it reads.
static void deliver(void) {
  atomic_fetch_add(&deliveries, 1);
  pid_t pid = receiver;
  unsigned numbers = pid > 0 ? atomic_exchange(&waiting, 0) : 0;
  for (int number = 1; numbers >> number; number++) {
    if (numbers >> number & 1) kill(pid, number);
  }
  atomic_fetch_sub(&deliveries, 1);
}

static void receive(int number, siginfo_t *information, void *context) {
  (void)context;
  int saved = errno;
  atomic_fetch_or(&came, 1u << number);
  // A terminal sends to all that run in it, and so to the command.
  if (!is_handed_over || information->si_code != SI_KERNEL) {
    atomic_fetch_or(&waiting, 1u << number);
    if (is_handed_over) {
      deliver();
    } else {
      // A full pipe has told much the same already.
      unsigned char byte = (unsigned char)number;
      ssize_t written;
      do written = write(mailbox[1], &byte, 1);
      while (written < 0 && errno == EINTR);
    }
  }
  errno = saved;
}

static int open_mailbox(void) {
  if (mailbox[0] >= 0) return 0;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) return -1;
  mailbox[0] = ends[0];
  mailbox[1] = ends[1];
  return 0;
}

int kist_take_signals(int all) {
  if (open_mailbox() != 0) return -1;
  struct sigaction action = {.sa_sigaction = receive, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < (all ? number_of_signals : 3); i++) {
    struct sigaction before;
    // A command keeps what is ignored for it: a shell starts its jobs in the background without
    // SIGINT. nohup(1) ignores SIGHUP, so that the end of a terminal ends nothing that runs in it.
    if ((all || signals[i] == SIGHUP) && sigaction(signals[i], NULL, &before) == 0
        && before.sa_handler == SIG_IGN) continue;
    if (sigaction(signals[i], &action, NULL) != 0) return -1;
  }
  return mailbox[0];
}

int kist_hand_over_signals(void) {
  signal(SIGCHLD, SIG_DFL);
  is_handed_over = 1;
  unsigned numbers = waiting;
  return numbers ? __builtin_ctz(numbers) : 0;
}

int kist_give_back_signals(void) {
  for (size_t i = 0; i < number_of_signals; i++) {
    struct sigaction now;
    if (sigaction(signals[i], NULL, &now) == 0 && now.sa_sigaction == receive) {
      signal(signals[i], SIG_DFL);
    }
  }
  is_handed_over = 0;
  waiting = 0;
  unsigned numbers = atomic_exchange(&came, 0);
  for (size_t i = 0; i < number_of_ending_signals; i++) {
    if (numbers >> signals[i] & 1) return signals[i];
  }
  return 0;
}

int kist_wait_for_command(pid_t pid) {
  receiver = pid;
  deliver();
  siginfo_t information;
  // Not reaped yet, so that no signal is forwarded to another process with its pid.
  while (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
  receiver = 0;
  while (deliveries > 0) sched_yield();
  int status;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
