#ifndef CCONCURRENCY_H
#define CCONCURRENCY_H

/// Has Swift's tasks that prefer no executor run on libdispatch's threads that nothing watches.
///
/// On Linux libdispatch watches the threads that they run on otherwise, with a timer that wakes the
/// process every second from the first task on until its end (`_dispatch_workq_init_once` in its
/// src/event/workqueue.c). Called once, before there are other tasks.
void kist_run_tasks_unwatched(void);

#endif
