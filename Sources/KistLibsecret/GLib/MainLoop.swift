internal import CLibsecret
private import Synchronization

/// A GLib main context on a thread of its own, on which an actor runs.
///
/// What the actor asks of GLib is answered on the same thread, so that its pointers never leave it. A
/// request runs there from its beginning to its end: as a task of another executor, it would cross
/// threads at every answer that it waits for.
@safe final class MainLoop: SerialExecutor, TaskExecutor {
  private nonisolated(unsafe) let context = unsafe g_main_context_new()
  private let isOver = IsOver()

  private final class IsOver: Sendable {
    let value = Atomic(false)
  }

  init() {
    // The thread must not keep the loop, whose end is its own.
    let thread = unsafe Work { [context, isOver] in
      unsafe g_main_context_push_thread_default(context)
      while !isOver.value.load(ordering: .acquiring) { unsafe g_main_context_iteration(context, 1) }
      // What GLib has still to free, it frees in sources that a context without a loop would forget.
      while unsafe g_main_context_iteration(context, 0) != 0 {}
      unsafe g_main_context_pop_thread_default(context)
      unsafe g_main_context_unref(context)
    }
    unsafe g_main_context_ref(context)
    let body: GThreadFunc = { work in
      unsafe Work.run(work)
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

  /// Runs a function on the loop's thread after some time, unless its timer is stopped before.
  func startTimer(after duration: Duration, _ body: @escaping () -> Void) -> Timer {
    let source = unsafe g_timeout_source_new(guint(clamping: duration.milliseconds))
    unsafe g_source_ref(source)
    unsafe attach(source, Work(body))
    return unsafe Timer(owning: source)
  }

  /// Gives the source to the context, which runs the work once.
  private func attach(_ source: UnsafeMutablePointer<GSource>?, _ work: Work) {
    // The work may be over, and the loop with it, before GLib has let go of the source, for which it
    // locks the context.
    let context = unsafe g_main_context_ref(context)
    defer { unsafe g_main_context_unref(context) }
    unsafe g_source_set_priority(source, G_PRIORITY_DEFAULT)
    let body: GSourceFunc = { work in
      unsafe Work.perform(work)
      return 0
    }
    unsafe g_source_set_callback(source, body, work.retained(), { unsafe Work.release($0) })
    unsafe g_source_attach(source, context)
    unsafe g_source_unref(source)
  }
}

/// A timer that runs out once.
@safe final class Timer {
  private let source: UnsafeMutablePointer<GSource>?

  init(owning source: UnsafeMutablePointer<GSource>?) { unsafe self.source = source }

  deinit {
    unsafe g_source_destroy(source)
    unsafe g_source_unref(source)
  }
}

extension Duration {
  /// Whole milliseconds, rounded up.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}
