internal import CLibsecret
private import Synchronization

/// A GLib main context on its own thread, on which an actor runs.
///
/// GLib answers the actor on the same thread, so its pointers never leave it. A request stays on
/// this thread from beginning to end. As a task of another executor, it would switch threads at
/// every answer.
@safe final class MainLoop: SerialExecutor, TaskExecutor {
  private nonisolated(unsafe) let context = unsafe g_main_context_new()
  private let isOver = IsOver()

  private final class IsOver: Sendable {
    let value = Atomic(false)
  }

  init() {
    // The thread must not retain the loop, because the end of the loop ends the thread.
    let thread = unsafe Work { [context, isOver] in
      unsafe g_main_context_push_thread_default(context)
      while !isOver.value.load(ordering: .acquiring) { unsafe g_main_context_iteration(context, 1) }
      // GLib frees remaining objects in sources of this context, which run only in its iterations.
      while unsafe g_main_context_iteration(context, 0) != 0 {}
      unsafe g_main_context_pop_thread_default(context)
      unsafe g_main_context_unref(context)
    }
    unsafe g_main_context_ref(context)
    let body: GThreadFunc = { work in
      unsafe Work.perform(work, ())
      unsafe Work.release(work)
      return nil
    }
    unsafe g_thread_unref(g_thread_new("keyring", body, thread.retained()))
  }

  deinit {
    isOver.value.store(true, ordering: .releasing)
    unsafe g_main_context_wakeup(context)
    unsafe g_main_context_unref(context)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let actor = unsafe asUnownedSerialExecutor()
    let task = unsafe asUnownedTaskExecutor()
    unsafe attach(
      g_idle_source_new(),
      Work { unsafe job.runSynchronously(isolatedTo: actor, taskExecutor: task) })
  }

  /// Runs a function on the loop's thread after some time, unless its timer is released before.
  func startTimer(after duration: Duration, _ body: @escaping () -> Void) -> Registration {
    let source = unsafe g_timeout_source_new(guint(clamping: duration.milliseconds))
    unsafe g_source_ref(source)
    unsafe attach(source, Work(body))
    return Registration {
      unsafe g_source_destroy(source)
      unsafe g_source_unref(source)
    }
  }

  /// Returns the value of a call, which is cancelled if it is not answered by the deadline.
  func value<Value>(
    by deadline: Deadline, of start: (Pending<Value>, Cancellable) -> Void
  ) async throws(BusError) -> Value {
    let pending = Pending<Value>()
    let cancellable = Cancellable()
    let timer = try startTimer(after: deadline.remaining()) {
      // GLib waits for the answer to a connection's Hello even after a cancellation.
      pending.arrive(.failure(.timeout))
      cancellable.cancel()
    }
    defer { extendLifetime(timer) }
    start(pending, cancellable)
    return try await pending.value()
  }

  /// Adds the source to the context, which runs the work once.
  private func attach(_ source: UnsafeMutablePointer<GSource>?, _ work: Work) {
    // The work may end, and release the loop, before GLib has released the source. GLib locks the
    // context for that release, so this function retains the context.
    let context = unsafe g_main_context_ref(context)
    defer { unsafe g_main_context_unref(context) }
    unsafe g_source_set_priority(source, G_PRIORITY_DEFAULT)
    let body: GSourceFunc = { work in
      unsafe Work.perform(work, ())
      return 0
    }
    unsafe g_source_set_callback(source, body, work.retained(), { unsafe Work.release($0) })
    unsafe g_source_attach(source, context)
    unsafe g_source_unref(source)
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded up.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}
