#ifndef CLINUX_H
#define CLINUX_H

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/vfs.h>

/// prctl(2) is variadic, and a variadic function cannot be called from Swift.
/// Returns 0, or -1 with errno set.
static inline int kist_set_dumpable(int dumpable) {
  return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}

/// Has malloc(3) share its memory between the threads, where each would have some of its own that it
/// keeps: of a daemon that mostly waits they are few, and seldom at work at once. Called once, before
/// there are other threads.
void kist_share_memory(void);

/// Gives the memory that is free back to the system: malloc_trim(3).
void kist_give_back_memory(void);

/// execvpe(3), which is shown to GNU programs only.
int kist_execvpe(
    const char *_Nonnull file, char *_Nullable const *_Nonnull words,
    char *_Nullable const *_Nonnull environment);

/// Opens a file without a name in a folder, to be written, for its owner alone: open(2), O_TMPFILE.
/// Returns a descriptor, or -1 with errno set.
int kist_open_unnamed(const char *_Nonnull folder);

/// Removes a directory with all that is in it, and follows no link.
void kist_remove_directory(const char *_Nonnull path);

/// Takes the handlers off the signals of a crash, such as the one of Swift's runtime that prints
/// registers and the memory behind them.
void kist_default_crash_signals(void);

/// Takes the signals that ask this process to end or to reload: SIGTERM, SIGINT, and SIGHUP unless it
/// is ignored; with `all`, also SIGQUIT, SIGUSR1 and SIGUSR2, and none that is ignored. In C, because
/// Swift may not run in a handler. Returns a descriptor from which their numbers are read, a byte
/// each, or -1 with errno set.
int kist_take_signals(int all);

/// From here on signals are for a command, and not told on the descriptor. Its end is told, also where
/// whoever started this process had SIGCHLD ignored: wait(2). Returns a signal that came before, or 0.
int kist_hand_over_signals(void);

/// Ends that signals are for a command: they do by default again what they are for. Returns the first
/// signal that came meanwhile and asks a process to end, from a terminal too, or 0.
int kist_give_back_signals(void);

/// Gives a command, once it is started, each signal that came since they were handed over, and each
/// that comes until it ends. Returns its exit status, or 128 and the number of the signal that
/// ended it, or -1 where nobody can know.
int kist_wait_for_command(pid_t pid);

#endif
