#ifndef CLINUX_H
#define CLINUX_H

#include <sys/prctl.h>

/// prctl(2) is variadic, and a variadic function cannot be called from Swift.
/// Returns 0, or -1 with errno set.
static inline int kist_set_dumpable(int dumpable) {
  return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}

#endif
