package import KistCore
internal import KistJSON

/// A line of the audit log as it is stored on disk.
///
/// It is a record whose last member, `names`, is sealed and bound to the text before it. The
/// members of an `AuditLink` may follow it.
package enum AuditLine {
  static let beforeNames: StaticString = ",\"names\":\""
  static let afterNames: StaticString = "\"}"

  /// A record that was read, with its sealed names.
  package struct Content: Sendable {
    /// The record without its names.
    package var record: AuditRecord
    private let line: Secret
    private let sealed: Secret?
    /// The number of bytes of the members that chain the line to the one before.
    private let linkCount: Int

    /// Reads a line without its newline; returns `nil` if it is not a line of the log.
    package init?(_ line: Secret) {
      guard let object = try? JSONObject(line), let record = try? AuditRecord(object) else {
        return nil
      }
      self.record = record
      self.line = line
      sealed = (try? object["names"]?.base64()) ?? nil
      linkCount = line.withBytes { line in AuditLink.range(in: line)?.count ?? 0 }
    }

    /// The sealed names; empty if there are none.
    package var sealedNames: Secret { sealed ?? Secret(utf8: "") }
    /// Whether the line has names.
    package var hasNames: Bool { sealed != nil }

    /// Returns the names in the request; throws as `NameSeal.open` does.
    package func names(openedBy seal: NameSeal) throws(StorageError) -> RequestedNames? {
      guard let sealed else { return nil }
      let tail =
        linkCount + beforeNames.utf8CodeUnitCount + base64Count(of: sealed.count)
        + afterNames.utf8CodeUnitCount
      guard line.count > tail else {
        throw StorageError(.corrupt, "a line of the audit log was changed")
      }
      return try line.withBytes { line throws(StorageError) in
        try sealed.withBytes { sealed throws(StorageError) in
          try seal.open(sealed, line.extracting(..<(line.count - tail)))
        }
      }
    }
  }
}
