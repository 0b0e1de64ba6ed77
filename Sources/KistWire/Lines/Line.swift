package import KistCore

/// One line of the protocol without its newline.
///
/// It is handled as a secret because it may contain one.
package struct Line: Sendable, Equatable {
  package let content: Secret

  package init(_ content: Secret) { self.content = content }
}

/// Answers one line with one line: a whole server, or a connection to one.
package typealias LineExchange = @Sendable (Line) async throws(StorageError) -> Line

/// Waits for the next of several lines; returns `nil` if the task is cancelled.
package typealias NextLine = @Sendable () async throws(StorageError) -> Line?
