package import KistCore
internal import KistJSON

/// A line of the audit log as it lies on the disk: a record, whose last member, `names`, is sealed and
/// bound to all that stands before it.
package enum AuditLine {
  static let beforeNames: StaticString = ",\"names\":\""
  static let afterNames: StaticString = "\"}"

  /// A record as it was read, with what opens its names.
  package struct Content: Sendable {
    /// Without its names.
    package var record: AuditRecord
    private let line: Secret
    private let sealed: Secret?

    /// Reads a line without its newline; `nil` where it is none of the log's.
    package init?(_ line: Secret) {
      guard
        let object = try? JSONObject(line), let record = try? AuditRecord(object)
      else { return nil }
      self.record = record
      self.line = line
      sealed = (try? object["names"]?.base64()) ?? nil
    }

    /// Whether there are names at all.
    package var hasNames: Bool { sealed != nil }

    /// What the request named; throws as `NameSeal.open` does.
    package func names(openedBy seal: NameSeal) throws(StorageError) -> RequestedNames? {
      guard let sealed else { return nil }
      let tail =
        beforeNames.utf8CodeUnitCount + base64Count(of: sealed.count) + afterNames.utf8CodeUnitCount
      guard line.count > tail else { throw .corrupt }
      return try line.withBytes { line throws(StorageError) in
        try sealed.withBytes { sealed throws(StorageError) in
          try seal.open(sealed, line.extracting(..<(line.count - tail)))
        }
      }
    }
  }
}

extension StorageError {
  fileprivate static var corrupt: StorageError {
    StorageError(.corrupt, "a line of the audit log was changed")
  }
}
