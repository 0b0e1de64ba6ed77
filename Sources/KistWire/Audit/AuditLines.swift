package import KistCore
internal import KistJSON

/// Consecutive lines of the audit log, which `AuditLine.Content` reads.
///
/// Text that lines have in common is encoded once, because encoding is most of the work.
package struct AuditLines: ~Copyable {
  /// A client, with the encoded members that describe it in each of its lines.
  package struct Client: Sendable {
    fileprivate let members: [UInt8]

    package init(_ peer: AuditedPeer) {
      members = AuditLines.members(of: JSONWriter.object { $0.members(of: peer) })
    }
  }

  /// The lines.
  package var block = AuditBlock()
  private let seal: NameSeal.Sealing?
  private var time = Time()
  private var kind = Kind(RequestNotes.Note())
  private var line = WipedBytes(capacity: 1024)
  private var sealed = WipedBytes(capacity: 256)

  /// Begins lines, with sealed names, or without names if `seal` is `nil`.
  package init(capacity: Int, sealedBy seal: NameSeal?) {
    block.reserveCapacity(capacity)
    self.seal = seal?.begin()
  }

  /// The number of bytes.
  package var count: Int { block.text.count }

  /// Removes all lines and keeps the memory.
  package mutating func removeAll() { block.removeAll() }

  /// Appends the line of a request.
  package mutating func append(
    _ note: RequestNotes.Note, of client: Client, at moment: AuditRecord.Moment
  ) {
    if !kind.isThat(of: note) { kind = Kind(note) }
    let members = kind.members
    begin(at: moment)
    line.append(members.span)
    line.append(decimal: Int((note.end - note.start) / 1000))
    line.append(client.members.span)
    sealed.removeAll()
    if let names = note.names, let seal {
      Self.seal(names, with: seal, boundTo: line, into: &sealed)
      AuditLine.beforeNames.withBytes { line.append($0) }
      Self.append(sealed, to: &line)
      line.append(UInt8(ascii: "\""))
    }
    end()
  }

  /// Appends a line that says how many requests were not written.
  package mutating func append(lost count: Int, at moment: AuditRecord.Moment) {
    begin(at: moment)
    sealed.removeAll()
    line.append(utf8: ",\"lost\":")
    line.append(decimal: count)
    end()
  }

  private mutating func begin(at moment: AuditRecord.Moment) {
    time.set(moment)
    let text = time.text
    line.removeAll()
    line.append(text.span)
  }

  private mutating func end() {
    line.append(UInt8(ascii: "}"))
    line.append(UInt8(ascii: "\n"))
    Self.append(line, sealed, to: &block)
  }
}

// Static functions, because a closure that uses one property would access all of `self`.
extension AuditLines {
  private static func seal(
    _ names: RequestedNames, with seal: NameSeal.Sealing, boundTo line: borrowing WipedBytes,
    into sealed: inout WipedBytes
  ) {
    line.withBytes { seal(names, $0, &sealed) }
  }

  private static func append(_ sealed: borrowing WipedBytes, to line: inout WipedBytes) {
    sealed.withBytes { appendBase64($0, to: &line) }
  }

  private static func append(
    _ line: borrowing WipedBytes, _ sealed: borrowing WipedBytes, to block: inout AuditBlock
  ) {
    line.withBytes { line in sealed.withBytes { block.append(line, sealed: $0) } }
  }

  /// Returns the members of an object as text that can follow other members.
  private static func members(of object: Secret) -> [UInt8] {
    object.withBytes { object in
      [UInt8(ascii: ",")] + (1..<object.count - 1).map { object[$0] }
    }
  }

  /// The first member of a line, `time`, and the brace before it; formats a new second only once.
  private struct Time {
    private static let name: StaticString = "{\"time\":\""

    private var second: Timestamp?
    private(set) var text = InlineArray<34, UInt8>(repeating: UInt8(ascii: "\""))

    mutating func set(_ moment: AuditRecord.Moment) {
      guard moment.second == second else {
        second = moment.second
        let time = moment.rfc3339
        Self.name.withBytes { name in
          for offset in name.indices { text[offset] = name[offset] }
          for offset in time.indices { text[name.count + offset] = time[offset] }
        }
        return
      }
      text.put(milliseconds: moment.milliseconds, at: Self.name.utf8CodeUnitCount + 20)
    }
  }

  /// The operation and the outcome of a request, encoded, because they seldom change between lines.
  private struct Kind {
    private let operation: String
    private let failure: StorageError.Code?
    /// The members before the number of microseconds.
    let members: [UInt8]

    init(_ note: RequestNotes.Note) {
      operation = note.operation
      failure = note.failure
      let object = JSONWriter.object { writer in
        writer.members(
          ofRequest: note.operation.isEmpty ? nil : note.operation, note.failure, microseconds: 0)
      }
      members = Array(AuditLines.members(of: object).dropLast())
    }

    func isThat(of note: RequestNotes.Note) -> Bool {
      note.operation == operation && note.failure == failure
    }
  }
}

/// A line of the audit log: a record whose last member, `names`, is sealed and bound to the rest.
///
/// The members of an `AuditLink` may follow it.
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
