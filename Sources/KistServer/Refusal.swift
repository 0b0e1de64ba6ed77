package import KistCore

/// What was not even tried.
package enum Refusal: Sendable {
  /// A connection.
  case connection(StorageError)
  /// What is no line: too long, or cut off.
  case line(StorageError)
}
