/// A Swift function on its way through GLib, which knows only pointers.
final class Work {
  private let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }

  /// The pointer to hand to GLib, to be given back once.
  func retained() -> UnsafeMutableRawPointer { unsafe Unmanaged.passRetained(self).toOpaque() }

  /// Runs what stands behind a pointer, and keeps the pointer.
  static func perform(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Work>.fromOpaque(pointer!).takeUnretainedValue().body()
  }

  /// Gives a pointer back.
  static func release(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Work>.fromOpaque(pointer!).release()
  }

  /// Runs what stands behind a pointer, and gives it back.
  static func run(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue().body()
  }
}
