internal import CLibsecret

/// A GLib object that cancels calls in progress.
final class Cancellable {
  private let object = unsafe GObjectReference(owning: g_cancellable_new()!)

  var pointer: UnsafeMutablePointer<GCancellable> { unsafe object.pointer() }

  func cancel() { unsafe g_cancellable_cancel(pointer) }
}
