#include "CConcurrency.h"

#include <stdint.h>
#include <time.h>

// Swift's tasks run on the default threads of libdispatch. On Linux, libdispatch watches these with
// a timer that wakes an idle process every second, from the first task on:
// https://github.com/swiftlang/swift-corelibs-libdispatch/pull/206. So an idle kistd would wake up
// 61 times a minute, instead of once. This file runs the tasks on threads that libdispatch does not
// watch. It can go when libdispatch stops the timer of an idle process.
//
// Declares the hooks of Swift's runtime (stdlib/public/Concurrency, swift/Runtime/Concurrency.h)
// and the required part of libdispatch, because neither has headers for C.

#define SWIFT __attribute__((swiftcall))

struct executor {
  void *identity;
  uintptr_t implementation;
};

extern SWIFT void swift_job_run(void *job, struct executor executor);
extern SWIFT void (*swift_task_enqueueGlobal_hook)(void *job, void *original);
extern SWIFT void (*swift_task_enqueueGlobalWithDelay_hook)(
    unsigned long long nanoseconds, void *job, void *original);
extern SWIFT void (*swift_task_enqueueGlobalWithDeadline_hook)(
    long long seconds, long long nanoseconds, long long leeway_seconds, long long leeway_nanoseconds,
    int clock, void *job, void *original);

extern void *dispatch_get_global_queue(intptr_t quality, uintptr_t flags);
extern void dispatch_async_f(void *queue, void *context, void (*work)(void *));
extern void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *));
extern uint64_t dispatch_time(uint64_t when, int64_t delta);

enum { DEFAULT_QUALITY = 0x15, OVERCOMMIT = 2, CONTINUOUS_CLOCK = 1 };

static void run(void *job) { swift_job_run(job, (struct executor){0, 0}); }

static void *queue(void) { return dispatch_get_global_queue(DEFAULT_QUALITY, OVERCOMMIT); }

static void run_after(int64_t nanoseconds, void *job) {
  dispatch_after_f(dispatch_time(0, nanoseconds < 0 ? 0 : nanoseconds), queue(), job, run);
}

static SWIFT void enqueue(void *job, void *original) {
  (void)original;
  dispatch_async_f(queue(), job, run);
}

static SWIFT void enqueue_after(unsigned long long nanoseconds, void *job, void *original) {
  (void)original;
  run_after(nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds, job);
}

static SWIFT void enqueue_at(
    long long seconds, long long nanoseconds, long long leeway_seconds, long long leeway_nanoseconds,
    int clock, void *job, void *original) {
  (void)leeway_seconds, (void)leeway_nanoseconds, (void)original;
  struct timespec now;
  clock_gettime(clock == CONTINUOUS_CLOCK ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &now);
  // Limits the wait to far more than a process lives, because nanoseconds would overflow.
  long long left = seconds - now.tv_sec;
  if (left > 1LL << 32) left = 1LL << 32;
  run_after(left * 1000000000 + nanoseconds - now.tv_nsec, job);
}

void kist_run_tasks_unwatched(void) {
  swift_task_enqueueGlobal_hook = enqueue;
  swift_task_enqueueGlobalWithDelay_hook = enqueue_after;
  swift_task_enqueueGlobalWithDeadline_hook = enqueue_at;
}
