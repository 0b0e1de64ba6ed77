#ifndef CCALLS_H
#define CCALLS_H

#include <sys/syscall.h>

/// Makes a system call by its number, as Swift cannot call the variadic syscall(2). A process that the
/// call creates ends at once. Returns 0, or the error number.
int kist_call(long number, long a, long b, long c, long d, long e);

/// Makes seccomp(2) and the calls of Landlock fail with an error from now on, as in a sandbox. Returns 0, or
/// -1 with errno set.
int kist_refuse_confinement(int error);

#endif
