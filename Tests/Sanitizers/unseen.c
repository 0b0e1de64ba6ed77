// Informs Thread Sanitizer of synchronisation in libraries that are not instrumented. The linker redirects
// calls to this file (--wrap, in `run`). Otherwise false races would have to be suppressed, together with
// real ones.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *);
void __tsan_release(void *);

// Swift's `Mutex`. Without contention, it is locked and unlocked in the instrumented code of its user. With
// contention, it is in the library Synchronization.
#define SWIFT __attribute__((swiftcall))
#define MUTEX __attribute__((swift_context)) void *mutex
#define SLOW(name) "$s15Synchronization12_MutexHandleV" name
#define REAL(name) __asm__("__real_" SLOW(name)) __attribute__((weak))
#define WRAP(name) __asm__("__wrap_" SLOW(name))

SWIFT void real_lock(uint32_t thread, MUTEX) REAL("9_lockSlowyys6UInt32VF");
SWIFT bool real_try(MUTEX) REAL("12_tryLockSlowSbyF");
SWIFT void real_unlock(MUTEX) REAL("11_unlockSlowyyF");
SWIFT void wrap_lock(uint32_t thread, MUTEX) WRAP("9_lockSlowyys6UInt32VF");
SWIFT bool wrap_try(MUTEX) WRAP("12_tryLockSlowSbyF");
SWIFT void wrap_unlock(MUTEX) WRAP("11_unlockSlowyyF");

SWIFT void wrap_lock(uint32_t thread, MUTEX) {
  real_lock(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT bool wrap_try(MUTEX) {
  bool is_taken = real_try(mutex);
  if (is_taken) __tsan_acquire(mutex);
  return is_taken;
}

SWIFT void wrap_unlock(MUTEX) {
  __tsan_release(mutex);
  real_unlock(mutex);
}

// A continuation of Swift that is resumed before it is awaited: the runtime reports the resuming thread, but
// not the waiting one (swift_continuation_await in its stdlib/public/Concurrency/Task.cpp). So the waiting
// task resumes through a function of this file, which temporarily replaces the parent of the context.
#define ASYNC __attribute__((swiftasynccall))
#define CONTEXT __attribute__((swift_async_context)) struct context *context
#define ERROR __attribute__((swift_context)) void *error
struct context {
  struct context *parent;
  ASYNC void (*resume)(ERROR, CONTEXT);
};

SWIFT void *swift_task_getCurrent(void) __attribute__((weak));

static ASYNC void go_on(ERROR, CONTEXT) {
  __tsan_acquire(swift_task_getCurrent());
  struct context *saved = context->parent;
  *context = *saved;
  free(saved);
  return context->resume(error, context);
}

static void lead_back(struct context *context) {
  struct context *saved = malloc(sizeof *saved);
  *saved = *context;
  *context = (struct context){saved, go_on};
}

// The arguments of withCheckedContinuation(isolation:function:_:), passed on unchanged.
#define WORDS void *result, void *actor, void *conformance, void *f, void *g, void *body, void *captured, void *t
#define CONTINUATION(name, symbol) \
  ASYNC void real_##name(WORDS, CONTEXT) __asm__("__real_" symbol) __attribute__((weak)); \
  ASYNC void wrap_##name(WORDS, CONTEXT) __asm__("__wrap_" symbol); \
  ASYNC void wrap_##name(WORDS, CONTEXT) { \
    lead_back(context); \
    return real_##name(result, actor, conformance, f, g, body, captured, t, context); \
  }
CONTINUATION(checked, "$ss23withCheckedContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5NeverOGXEtYalF")
CONTINUATION(throwing, "$ss31withCheckedThrowingContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5Error_pGXEtYaKlF")

// withUnsafeContinuation(isolation:_:) is compiled into its caller.
SWIFT void *__real_swift_continuation_init(struct context *, uintptr_t flags) __attribute__((weak));

SWIFT void *__wrap_swift_continuation_init(struct context *context, uintptr_t flags) {
  lead_back(context);
  return __real_swift_continuation_init(context, flags);
}

// GLib's main loop runs a source after another thread has attached it. It uses GLib's own mutex.
typedef int run(void *data);
typedef void notify(void *data);
struct work {
  void *data;
  run *run;
  notify *notify;
};

void __real_g_source_set_callback(void *source, run *, void *data, notify *) __attribute__((weak));

static int run_work(void *pointer) {
  struct work *work = pointer;
  __tsan_acquire(work);
  int goes_on = work->run(work->data);
  __tsan_release(work);
  return goes_on;
}

static void forget_work(void *pointer) {
  struct work *work = pointer;
  __tsan_acquire(work);
  if (work->notify) work->notify(work->data);
  free(work);
}

void __wrap_g_source_set_callback(void *source, run *run, void *data, notify *notify) {
  struct work *work = malloc(sizeof *work);
  *work = (struct work){data, run, notify};
  __tsan_release(work);
  __real_g_source_set_callback(source, run_work, work, forget_work);
}
