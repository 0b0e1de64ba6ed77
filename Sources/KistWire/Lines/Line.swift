package import KistCore
internal import KistJSON

/// One line of the protocol without its newline.
///
/// It is handled as a secret because it may contain one.
package struct Line: Sendable, Equatable {
  package let content: Secret

  package init(_ content: Secret) { self.content = content }

  /// Whether the operation only reads: it does not change, lock or unlock anything.
  package var onlyAsks: Bool {
    guard
      let object = try? JSONObject(content), let operation = try? object["op"]?.string()
    else { return false }
    return OperationRow.isRead(operation)
  }
}

/// Answers one line with one line: a whole server, or a connection to one.
package typealias LineExchange = @Sendable (Line) async throws(StorageError) -> Line

/// Waits for the next of several lines; returns `nil` if the task is cancelled.
package typealias NextLine = @Sendable () async throws(StorageError) -> Line?
