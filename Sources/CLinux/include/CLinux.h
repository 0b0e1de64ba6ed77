#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/vfs.h>

/// Calls prctl(2) with PR_SET_DUMPABLE, because Swift cannot call variadic functions.
///
/// Returns 0, or -1 with errno set.
static inline int kist_set_dumpable(int dumpable) {
  return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}

/// Makes all threads share the memory of malloc(3).
///
/// Otherwise each thread keeps memory of its own, and a daemon that mostly waits does not need
/// that. Call it once, before there are other threads.
void kist_share_memory(void);

/// Returns free memory to the system with malloc_trim(3).
void kist_give_back_memory(void);

/// Calls execvpe(3), which is declared only for GNU programs.
int kist_execvpe(
    const char *_Nonnull file, char *_Nullable const *_Nonnull words,
    char *_Nullable const *_Nonnull environment);

/// Starts a process that waits to become a command, which is found in PATH.
///
/// `kist_start_command` makes it run the command. If `starter` is closed first, the process ends.
///
/// The process has an empty signal mask, and the default action for SIGPIPE and for all signals
/// that this process handles. Everything else is inherited.
///
/// Call it while there is one thread. Returns the pid, or -1 with errno set.
pid_t kist_fork_command(
    char *_Nullable const *_Nonnull words, char *_Nullable const *_Nonnull environment,
    int *_Nonnull starter);

/// Makes a waiting process run its command.
///
/// Returns 0, or the error number of execvpe(3).
int kist_start_command(int starter);

/// Continues in a child process, which has a session of its own and no terminal: setsid(2).
///
/// The parent waits until a byte is written to the returned descriptor, and then ends with status 0.
/// If the child ends before, the parent ends with the status of the child.
///
/// Call it while there is one thread. Returns -1 with errno set if there is no child.
int kist_detach(void);

/// Returns the version of the kernel's Landlock (landlock(7)), or -1 with errno set.
int kist_landlock_version(void);

/// Rights of a Landlock rule beneath a directory.
///
/// They are: to write to existing files, to read files, to list directories, to remove empty
/// directories, or all that keeping files in it requires.
static const uint64_t kist_may_write = 1 << 1;
static const uint64_t kist_may_read = 1 << 2;
static const uint64_t kist_may_list = 1 << 3;
static const uint64_t kist_may_remove_directories = 1 << 4;
static const uint64_t kist_may_keep_files =
    1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 14;

/// Limits on access to unconfined processes: no abstract sockets, no signals.
static const uint64_t kist_scope_of_abstract_sockets = 1 << 0;
static const uint64_t kist_scope_of_signals = 1 << 1;

/// Makes rules that allow nothing yet.
///
/// They forbid access to files and, where the version supports it, TCP and the scopes. Returns a
/// descriptor, or -1 with errno set.
int kist_landlock_rules(int version, uint64_t scopes);

/// Allows these rights for a directory and its content, or for one file.
///
/// Returns 0, or -1 with errno set.
int kist_landlock_allow(int rules, int version, const char *_Nonnull path, uint64_t rights);

/// Applies the rules permanently to this thread and the threads that it starts.
///
/// Returns 0, or -1 with errno set.
int kist_landlock_restrict(int rules);

/// Prevents this thread, and all that it starts, from gaining privileges by running a program.
///
/// Uses PR_SET_NO_NEW_PRIVS. Returns 0, or -1 with errno set.
int kist_forbid_new_privileges(void);

/// Restricts all threads to the system calls in calls.h.
///
/// They can start no process, map no code, and create only sockets for this machine. Any other call
/// fails with EPERM, or with ENOSYS where it is newer than the list.
///
/// Call `kist_forbid_new_privileges` first. Returns 0, or another number on failure; errno is set
/// where it is -1.
int kist_confine_calls(void);

/// Opens an unnamed file in a folder for writing, for its owner only: open(2), O_TMPFILE.
///
/// Returns a descriptor, or -1 with errno set.
int kist_open_unnamed(const char *_Nonnull folder);

/// Removes a directory with all its content, without following links.
void kist_remove_directory(const char *_Nonnull path);

/// Removes the handlers of crash signals.
///
/// The handler of Swift's runtime prints registers and the memory behind them.
void kist_default_crash_signals(void);

/// Handles the signals that ask this process to end or to reload.
///
/// These are SIGTERM, SIGINT, and SIGHUP unless it is ignored. `all` adds SIGQUIT, SIGUSR1 and
/// SIGUSR2, leaves every ignored signal ignored, and sets SIGCHLD to its default, so that this
/// process can wait for a command.
///
/// It is in C, because a handler must not run Swift. Returns a descriptor that delivers the signal
/// numbers as bytes, or -1 with errno set.
int kist_take_signals(int all);

/// Reserves all further signals for a command, in place of the descriptor.
///
/// Returns a signal that arrived before, or 0.
int kist_hand_over_signals(void);

/// Delivers further signals through the descriptor again.
void kist_take_back_signals(void);

/// Ends the reservation of signals for a command, and restores their default actions.
///
/// Returns a signal that arrived meanwhile and asks a process to end, even from a terminal, or 0.
int kist_give_back_signals(void);

/// Forwards signals to a started command until it ends, including those since the hand-over.
///
/// Returns its exit status, or 128 plus the number of the signal that ended it, or -1 where neither
/// can be determined.
int kist_wait_for_command(pid_t pid);

#endif
