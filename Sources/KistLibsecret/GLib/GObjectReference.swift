internal import CLibsecret

/// One reference to a GObject, given back at the end.
@safe final class GObjectReference {
  private let object: UnsafeMutableRawPointer

  /// Takes over a reference.
  init(owning object: OpaquePointer) { unsafe self.object = UnsafeMutableRawPointer(object) }

  /// Takes over a reference.
  init<Object>(owning object: UnsafeMutablePointer<Object>) {
    unsafe self.object = UnsafeMutableRawPointer(object)
  }

  deinit { unsafe g_object_unref(object) }

  /// The object, where its C type is declared and no more.
  var opaque: OpaquePointer { unsafe OpaquePointer(object) }

  /// The object as a type that it is of.
  func pointer<Object>(to type: Object.Type = Object.self) -> UnsafeMutablePointer<Object> {
    unsafe object.assumingMemoryBound(to: type)
  }
}
