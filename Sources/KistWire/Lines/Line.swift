package import KistCore

/// One line of the protocol without its newline; treated as a secret, since it may hold one.
package struct Line: Sendable, Equatable {
  package let content: Secret

  package init(_ content: Secret) { self.content = content }
}

/// What answers one line with one line: the whole of a server, or of a connection to one.
package typealias LineExchange = @Sendable (Line) async throws(StorageError) -> Line

/// What waits for the next of several lines; `nil` where the task is cancelled.
package typealias NextLine = @Sendable () async throws(StorageError) -> Line?
