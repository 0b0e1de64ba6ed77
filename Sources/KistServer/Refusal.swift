package import KistCore

/// Input that the server refused without trying it.
package enum Refusal: Sendable {
  /// A connection.
  case connection(StorageError)
  /// Input that is not a valid line: too long, or cut off.
  case line(StorageError)
}
