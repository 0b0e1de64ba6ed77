internal import CLibsecret

/// One reference to a GObject, released at the end.
@safe final class GObjectReference {
  private let object: UnsafeMutableRawPointer

  /// Takes ownership of a reference.
  init(owning object: OpaquePointer) { unsafe self.object = UnsafeMutableRawPointer(object) }

  /// Takes ownership of a reference.
  init<Object>(owning object: UnsafeMutablePointer<Object>) {
    unsafe self.object = UnsafeMutableRawPointer(object)
  }

  deinit { unsafe g_object_unref(object) }

  /// The object, for C types that are declared without members.
  var opaque: OpaquePointer { unsafe OpaquePointer(object) }

  /// Returns the object as a pointer to one of its types.
  func pointer<Object>(to type: Object.Type = Object.self) -> UnsafeMutablePointer<Object> {
    unsafe object.assumingMemoryBound(to: type)
  }
}
