#ifndef CLINUX_H
#define CLINUX_H

#include <sys/prctl.h>
#include <sys/types.h>

/// prctl(2) is variadic, and a variadic function cannot be called from Swift.
/// Returns 0, or -1 with errno set.
static inline int kist_set_dumpable(int dumpable) {
  return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}

/// Takes the handlers off the signals of a crash, such as the one of Swift's runtime that prints
/// registers and the memory behind them.
void kist_default_crash_signals(void);

/// Hands the signals that would end this process on to another one: in C, because Swift may not run
/// in a signal handler. Until that process is named, the last signal waits for it.
void kist_forward_signals(void);

/// Names the process that signals are for; 0 for none.
void kist_forward_signals_to(pid_t pid);

#endif
