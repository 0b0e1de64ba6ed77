internal import CLibsecret

/// What calls that are under way are cancelled with.
final class Cancellable {
  private let object = unsafe GObjectReference(owning: g_cancellable_new()!)

  var pointer: UnsafeMutablePointer<GCancellable> { unsafe object.pointer() }

  func cancel() { unsafe g_cancellable_cancel(pointer) }
}
