internal import KistCore
internal import KistJSON

/// The functions that read a value from the members of an object, and write it as members.
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
  /// The codec of an empty object.
  static var nothing: Self { Self(read: { _ in }, write: { _, _ in }) }
}
