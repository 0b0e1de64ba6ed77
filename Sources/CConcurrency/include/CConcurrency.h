#ifndef CCONCURRENCY_H
#define CCONCURRENCY_H

/// Runs Swift tasks without an executor preference on threads that libdispatch does not monitor.
///
/// On Linux libdispatch monitors its default threads with a timer. From the first task on, the
/// timer wakes the process every second (`_dispatch_workq_init_once` in its src/event/workqueue.c).
///
/// Call it once, before there are other tasks.
void kist_run_tasks_unwatched(void);

#endif
