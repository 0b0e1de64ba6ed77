#ifndef CCALLS_H
#define CCALLS_H

#include <sys/syscall.h>

/// Makes a system call by its number: syscall(2) is variadic, and a variadic function cannot be called
/// from Swift. A process that the call makes ends at once. Returns 0, or the error number.
int kist_call(long number, long a, long b, long c, long d, long e);

/// Has seccomp(2) and the calls of Landlock fail with an error from now on, as in a sandbox. Returns 0, or
/// -1 with errno set.
int kist_refuse_confinement(int error);

#endif
