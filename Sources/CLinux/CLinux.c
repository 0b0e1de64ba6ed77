#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t receiver;
static volatile sig_atomic_t waiting;

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

static void forward(int number, siginfo_t *information, void *context) {
  (void)context;
  // What a terminal sends, it sends to all that run in it.
  if (information->si_code == SI_KERNEL) return;
  int saved = errno;
  if (receiver > 0) kill(receiver, number);
  else waiting = number;
  errno = saved;
}

void kist_forward_signals(void) {
  static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
  struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    sigaction(signals[i], &action, NULL);
  }
}

void kist_forward_signals_to(pid_t pid) {
  receiver = pid;
  if (pid > 0 && waiting) {
    kill(pid, waiting);
    waiting = 0;
  }
}
