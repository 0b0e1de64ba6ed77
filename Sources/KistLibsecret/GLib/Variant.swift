internal import CLibsecret

/// A D-Bus value, immutable and safe to share between threads (GLib, "GVariant").
@safe final class Variant: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes ownership of a reference, also of a floating one.
  init(owning pointer: OpaquePointer?) { unsafe self.pointer = g_variant_take_ref(pointer)! }

  deinit { unsafe g_variant_unref(pointer) }
}

/// Functions that make values.
extension Variant {
  static func string(_ text: String) -> Variant {
    unsafe Variant(owning: g_variant_new_string(text))
  }

  static func objectPath(_ path: ObjectPath) -> Variant {
    unsafe Variant(owning: g_variant_new_object_path(path.rawValue))
  }

  static func bool(_ value: Bool) -> Variant {
    unsafe Variant(owning: g_variant_new_boolean(value ? 1 : 0))
  }

  static func uint32(_ value: UInt32) -> Variant {
    unsafe Variant(owning: g_variant_new_uint32(value))
  }

  static func tuple(_ members: [Variant]) -> Variant {
    let pointers = unsafe members.map { unsafe Optional($0.pointer) }
    defer { extendLifetime(members) }
    return unsafe Variant(owning: g_variant_new_tuple(pointers, gsize(pointers.count)))
  }

  /// Returns an `ao`.
  static func objectPaths(_ paths: [ObjectPath]) -> Variant {
    array(of: "o", paths.map(Variant.objectPath))
  }

  /// Returns an `a{ss}`.
  static func strings(_ strings: [String: String]) -> Variant {
    array(of: "{ss}", strings.map { .entry(.string($0), .string($1)) })
  }

  /// Returns an `a{sv}`.
  static func properties(_ properties: [String: Variant]) -> Variant {
    array(of: "{sv}", properties.map { .entry(.string($0), .boxed($1)) })
  }

  private static func boxed(_ value: Variant) -> Variant {
    defer { extendLifetime(value) }
    return unsafe Variant(owning: g_variant_new_variant(value.pointer))
  }

  private static func entry(_ key: Variant, _ value: Variant) -> Variant {
    defer { extendLifetime((key, value)) }
    return unsafe Variant(owning: g_variant_new_dict_entry(key.pointer, value.pointer))
  }

  private static func array(of type: String, _ elements: [Variant]) -> Variant {
    let pointers = unsafe elements.map { unsafe Optional($0.pointer) }
    defer { extendLifetime(elements) }
    return unsafe type.withCString { type in
      unsafe Variant(
        owning: g_variant_new_array(
          g_variant_type_checked_(type), pointers, gsize(pointers.count)))
    }
  }
}

/// Accessors of values whose type was checked before.
extension Variant {
  /// Returns whether the value is of this type, in D-Bus notation.
  func isOfType(_ type: String) -> Bool {
    unsafe type.withCString { unsafe g_variant_is_of_type(pointer, g_variant_type_checked_($0)) }
      != 0
  }

  var string: String { unsafe String(cString: g_variant_get_string(pointer, nil)) }
  var bool: Bool { unsafe g_variant_get_boolean(pointer) != 0 }
  var uint32: UInt32 { unsafe UInt32(g_variant_get_uint32(pointer)) }
  var uint64: UInt64 { unsafe UInt64(g_variant_get_uint64(pointer)) }
  var objectPath: ObjectPath { ObjectPath(rawValue: string) }
  var objectPaths: [ObjectPath] { children.map(\.objectPath) }

  /// The elements of an array, a tuple or a dictionary entry.
  var children: [Variant] {
    (0..<(unsafe g_variant_n_children(pointer))).map { index in
      unsafe Variant(owning: g_variant_get_child_value(pointer, index))
    }
  }

  /// The value in a `v`.
  var unboxed: Variant { unsafe Variant(owning: g_variant_get_variant(pointer)) }

  /// Returns the value of a name in an `a{sv}`, if it exists and is of this type.
  func property(_ name: String, type: String) -> Variant? {
    unsafe type.withCString { type in
      unsafe g_variant_lookup_value(pointer, name, g_variant_type_checked_(type))
    }.map { unsafe Variant(owning: $0) }
  }

  /// The entries of an `a{ss}`.
  var strings: [String: String] {
    Dictionary(
      children.map { entry in
        let parts = entry.children
        return (parts[0].string, parts[1].string)
      }, uniquingKeysWith: { $1 })
  }
}

/// The path of an object on the bus.
struct ObjectPath: RawRepresentable, Hashable, Sendable {
  let rawValue: String
}
