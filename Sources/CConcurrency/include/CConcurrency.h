#ifndef CCONCURRENCY_H
#define CCONCURRENCY_H

/// Runs Swift tasks without an executor preference on threads that do not wake an idle process.
///
/// Call it once, before there are other tasks.
void kist_run_tasks_unwatched(void);

#endif
