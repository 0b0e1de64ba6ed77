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

/// A value that arrives once on the loop's thread: the answer to a call, or a signal.
final class Pending<Value> {
  private var result: Result<Value, BusError>?
  private var waiting: CheckedContinuation<Void, Never>?

  /// Sets the result; only the first one counts.
  func arrive(_ result: Result<Value, BusError>) {
    guard self.result == nil else { return }
    self.result = result
    waiting?.resume()
    waiting = nil
  }

  func value() async throws(BusError) -> Value {
    if result == nil {
      // A task with an executor preference is enqueued again before the continuation is made. The
      // value may arrive in between.
      await withCheckedContinuation { continuation in
        if result == nil { waiting = continuation } else { continuation.resume() }
      }
    }
    return try result!.get()
  }

  /// Returns the pointer for `completeReply`; `finish` takes the answer out of a result.
  func completion(
    _ finish: @escaping (OpaquePointer?, inout UnsafeMutablePointer<GError>?) -> Value?
  ) -> UnsafeMutableRawPointer {
    unsafe Callback<OpaquePointer?> { result in
      var error: UnsafeMutablePointer<GError>? = nil
      let value = unsafe finish(result, &error)
      unsafe self.arrive(value.map { .success($0) } ?? .failure(BusError(owning: error)))
    }.retained()
  }
}

/// The callback that GLib calls when an answer has arrived.
func completeReply(
  _: UnsafeMutablePointer<GObject>?, result: OpaquePointer?, completion: UnsafeMutableRawPointer?
) {
  unsafe Callback.perform(completion, result)
  unsafe Callback<OpaquePointer?>.release(completion)
}

/// A Swift function that is passed through GLib as a pointer.
@safe final class Callback<Argument> {
  private let body: (Argument) -> Void

  init(_ body: @escaping (Argument) -> Void) { self.body = body }

  /// Returns a pointer for GLib, which must be released once.
  func retained() -> UnsafeMutableRawPointer { unsafe Unmanaged.passRetained(self).toOpaque() }

  /// Calls the function behind a pointer, and keeps the pointer.
  static func perform(_ pointer: UnsafeMutableRawPointer?, _ argument: Argument) {
    unsafe Unmanaged<Callback>.fromOpaque(pointer!).takeUnretainedValue().body(argument)
  }

  /// Releases a pointer.
  static func release(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Callback>.fromOpaque(pointer!).release()
  }
}

typealias Work = Callback<Void>

/// A GLib object that cancels calls in progress.
final class Cancellable {
  private let object = unsafe GObjectReference(owning: g_cancellable_new()!)

  var pointer: UnsafeMutablePointer<GCancellable> { unsafe object.pointer() }

  func cancel() { unsafe g_cancellable_cancel(pointer) }
}

/// One reference to a GObject, released at the end.
@safe final class GObjectReference {
  private let object: UnsafeMutableRawPointer

  /// Takes ownership of a reference.
  init(owning object: UnsafeMutableRawPointer) { unsafe self.object = object }

  deinit { unsafe g_object_unref(object) }

  /// The object, for C types that are declared without members.
  var opaque: OpaquePointer { unsafe OpaquePointer(object) }

  /// Returns the object as a pointer to one of its types.
  func pointer<Object>(to type: Object.Type = Object.self) -> UnsafeMutablePointer<Object> {
    unsafe object.assumingMemoryBound(to: type)
  }
}
