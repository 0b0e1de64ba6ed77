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

// Opened once and never closed. A handler on another thread may still write into it after signals
// are given back. The number of a closed descriptor may then belong to another file.
static int mailbox[2] = {-1, -1};
// Atomics, because a handler runs on any thread, in parallel with others that use these variables.
// sig_atomic_t is only for one thread.
static atomic_int is_handed_over;
static atomic_int receiver;
// The number of threads between reading the receiver and sending it the last signal.
static atomic_int deliveries;
// One bit for each signal that arrived and was not forwarded.
static atomic_uint waiting;
// One bit for each signal that arrived.
static atomic_uint came;
static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static const size_t number_of_signals = sizeof signals / sizeof *signals;
// The signals before this index ask a process to end.
static const size_t number_of_ending_signals = 4;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may use atomics without a lock only");

// A hook of Swift's runtime (stdlib/public/stubs/CommandLine.cpp), for which there is no header.
extern void _swift_stdlib_overrideUnsafeArgvArgc(char **words, int count);

// Gives Swift the arguments of the command line. A program with a static runtime searches for them
// before the environment, and finds none where a library has set a variable before main.
__attribute__((constructor)) static void keep_words(int count, char **words) {
  _swift_stdlib_overrideUnsafeArgvArgc(words, count);
}

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
    // An ignored signal stays ignored: a shell starts its background jobs without SIGQUIT.
    if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
      signal(signals[i], SIG_DFL);
    }
  }
}

// Forwards waiting signals. The signal handler and the receiver each write before they read, so
// that the second one always sees the first.
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
  // A signal from the terminal goes to all processes in it, so the command also receives it.
  if (!is_handed_over || information->si_code != SI_KERNEL) {
    atomic_fetch_or(&waiting, 1u << number);
    if (is_handed_over) {
      deliver();
    } else {
      // A full pipe already contains earlier signals, so this one may be lost.
      unsigned char byte = (unsigned char)number;
      (void)TEMP_FAILURE_RETRY(write(mailbox[1], &byte, 1));
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
  // With SIGCHLD ignored, the kernel forgets how a command ended: wait(2).
  if (all) signal(SIGCHLD, SIG_DFL);
  for (size_t i = 0; i < (all ? number_of_signals : 3); i++) {
    struct sigaction before;
    // Signals that are ignored stay ignored for a command: a shell starts its background jobs
    // without SIGINT. nohup(1) ignores SIGHUP, so that its command survives the end of the
    // terminal.
    if ((all || signals[i] == SIGHUP) && sigaction(signals[i], NULL, &before) == 0
        && before.sa_handler == SIG_IGN) continue;
    if (sigaction(signals[i], &action, NULL) != 0) return -1;
  }
  return mailbox[0];
}

int kist_hand_over_signals(void) {
  is_handed_over = 1;
  unsigned numbers = waiting;
  return numbers ? __builtin_ctz(numbers) : 0;
}

void kist_take_back_signals(void) { is_handed_over = 0; }

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
  // WNOWAIT keeps the pid in use, so that no signal is forwarded to another process with that pid.
  while (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
  receiver = 0;
  while (deliveries > 0) sched_yield();
  int status;
  if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
