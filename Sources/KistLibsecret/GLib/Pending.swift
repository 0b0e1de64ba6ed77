internal import CLibsecret

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
