/// A Swift function that is passed through GLib as a pointer.
final class Work {
  private let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }

  /// Returns a pointer for GLib, which must be released once.
  func retained() -> UnsafeMutableRawPointer { unsafe Unmanaged.passRetained(self).toOpaque() }

  /// Runs the function behind a pointer, and keeps the pointer.
  static func perform(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Work>.fromOpaque(pointer!).takeUnretainedValue().body()
  }

  /// Releases a pointer.
  static func release(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Work>.fromOpaque(pointer!).release()
  }

  /// Runs the function behind a pointer, and releases the pointer.
  static func run(_ pointer: UnsafeMutableRawPointer?) {
    unsafe Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue().body()
  }
}
