package import KistJSON

/// The result of a check of the audit log's chain.
package struct AuditVerdict: Sendable, Equatable, JSONMembers {
  /// The number of unchanged lines that kistd wrote with the key of this storage, before the first
  /// fault.
  package var verified = 0
  /// The number of lines that kistd wrote without a key, or that another program wrote.
  ///
  /// Counted from the start of this key's chain to the first fault.
  package var unchained = 0
  /// The number of lines before this key's chain begins.
  ///
  /// They have the chain of another key, or none.
  package var unchecked = 0
  /// The time of the first request in a verified line.
  package var since: AuditRecord.Moment?
  /// The time of the last request in a verified line.
  package var until: AuditRecord.Moment?
  /// The first place where the log differs from what kistd wrote, or cannot be checked.
  package var fault: Fault?

  package init() {}

  /// A place where the log was changed, or a file that is too large to check.
  package struct Fault: Sendable, Equatable {
    package var kind: Kind
    /// The name of the file.
    package var file: String
    /// The line numbers in that file, from 1; the fault is at one or more of them.
    package var lines: ClosedRange<Int>
    /// The number of missing or added lines, if it is known.
    package var count: Int?

    package init(_ kind: Kind, file: String, lines: ClosedRange<Int>, count: Int? = nil) {
      self.kind = kind
      self.file = file
      self.lines = lines
      self.count = count
    }
  }

  package enum Kind: String, Sendable {
    /// A line was changed.
    case changed
    /// Lines are missing before these lines or between them.
    case removed
    /// kistd did not write these lines, or wrote them in another place.
    case added
    /// Lines are missing at the end.
    case cut
    /// A new chain begins after a chain of the same key.
    case restarted
    /// The file is larger than the limit of the log, and kistd did not read it.
    case tooLarge
  }

  init(_ object: JSONObject) throws(JSONError) {
    self.init()
    verified = try object.required("verified").integer()
    unchained = try object.required("unchained").integer()
    unchecked = try object.required("unchecked").integer()
    since = try object["since"]?.moment()
    until = try object["until"]?.moment()
    fault = try object["fault"].map { (value) throws(JSONError) in try Fault(value.object()) }
  }

  /// Writes the protocol's reply to `auditVerify`.
  package func write(to writer: inout JSONWriter) {
    writer.member("verified", verified)
    writer.member("unchained", unchained)
    writer.member("unchecked", unchecked)
    writer.member("since", since?.description)
    writer.member("until", until?.description)
    guard let fault else { return }
    writer.member("fault") { (writer: inout JSONWriter) in
      writer.member("kind", fault.kind.rawValue)
      writer.member("file", fault.file)
      writer.member("first", fault.lines.lowerBound)
      writer.member("last", fault.lines.upperBound)
      writer.member("count", fault.count)
    }
  }
}

extension AuditVerdict.Fault {
  /// Reads a fault.
  ///
  /// An unknown kind, from a newer kistd, is read as `changed`.
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    let first = try object.required("first").integer()
    self.init(
      AuditVerdict.Kind(rawValue: try object.required("kind").string()) ?? .changed,
      file: try object.required("file").string(),
      lines: first...max(first, try object.required("last").integer()),
      count: try object["count"]?.integer())
  }
}
