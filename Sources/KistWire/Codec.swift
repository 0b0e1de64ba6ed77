internal import KistCore
internal import KistJSON

/// How a value is read from the members of an object, and written as them.
struct Codec<Value>: Sendable {
  let read: @Sendable (JSONObject) throws(JSONError) -> Value
  let write: @Sendable (Value, inout JSONWriter) throws(StorageError) -> Void

  init(
    read: @escaping @Sendable (JSONObject) throws(JSONError) -> Value,
    write: @escaping @Sendable (Value, inout JSONWriter) throws(StorageError) -> Void
  ) {
    self.read = read
    self.write = write
  }
}

extension Codec<Void> {
  /// No members at all.
  static var nothing: Self { Self(read: { _ in }, write: { _, _ in }) }
}
