package import KistCore
internal import KistJSON

/// Writes consecutive lines of the audit log, which `ParsedAuditLine` reads.
///
/// Encoding takes most of the time. So text that several lines have in common is encoded only once.
package struct AuditLineWriter: ~Copyable {
  /// The encoded JSON members that describe a client in the log.
  package struct Client: Sendable {
    fileprivate let members: [UInt8]

    package init(_ peer: AuditedPeer) {
      members = AuditLineWriter.members(of: JSONWriter.object { $0.members(of: peer) })
    }
  }

  /// The lines.
  package var block = AuditBlock()
  private let seal: NameSeal.Sealing?
  private var time = Time()
  private var kind = Kind(RequestNotes.Note())
  private var line = WipedBytes(capacity: 1024)
  private var sealed = WipedBytes(capacity: 256)

  /// Creates a writer; without `seal`, the lines have no names.
  package init(capacity: Int, sealedBy seal: NameSeal?) {
    block.reserveCapacity(capacity)
    self.seal = seal?.begin()
  }

  /// The size of the lines in bytes.
  package var count: Int { block.text.count }

  /// Removes all lines, and keeps the allocated memory.
  package mutating func removeAll() { block.removeAll() }

  /// Appends the line of a request.
  package mutating func append(
    _ note: RequestNotes.Note, of client: Client, at moment: AuditRecord.Moment
  ) {
    if !kind.matches(note) { kind = Kind(note) }
    let members = kind.members
    begin(at: moment)
    line.append(members.span)
    line.append(decimal: Int((note.end - note.start) / 1000))
    line.append(client.members.span)
    if let claim = note.claim { line.append(claim.span) }
    sealed.removeAll()
    if let names = note.names, let seal {
      Self.seal(names, with: seal, boundTo: line, into: &sealed)
      ParsedAuditLine.beforeNames.withBytes { line.append($0) }
      Self.append(sealed, to: &line)
      line.append(UInt8(ascii: "\""))
    }
    end()
  }

  /// Appends a line with the number of requests that were not written.
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
extension AuditLineWriter {
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
  static func members(of object: Secret) -> [UInt8] {
    object.withBytes { object in
      [UInt8(ascii: ",")] + (1..<object.count - 1).map { object[$0] }
    }
  }

  /// The start of a line, with the member `time`.
  ///
  /// In lines of the same second, only the milliseconds differ.
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

  /// The encoded operation of a request, and its result: `ok` or the code of the error.
  ///
  /// Consecutive lines often have the same operation and result.
  private struct Kind {
    private let operation: String
    private let failure: StorageError.Code?
    /// The text of these members, up to the number after `"microseconds":`.
    let members: [UInt8]

    init(_ note: RequestNotes.Note) {
      operation = note.operation
      failure = note.failure
      let object = JSONWriter.object { writer in
        writer.members(
          ofRequest: note.operation.isEmpty ? nil : note.operation, note.failure, microseconds: 0)
      }
      members = Array(AuditLineWriter.members(of: object).dropLast())
    }

    func matches(_ note: RequestNotes.Note) -> Bool {
      note.operation == operation && note.failure == failure
    }
  }
}

/// A line of the audit log that was read.
///
/// It contains a record, then the sealed member `names`, then the members of an `AuditLink`. The
/// last two may be absent. The names can be opened only with the unchanged text before them.
package struct ParsedAuditLine: Sendable {
  static let beforeNames: StaticString = ",\"names\":\""
  static let afterNames: StaticString = "\"}"

  /// The record without its names.
  package var record: AuditRecord
  private let line: Secret
  private let sealed: Secret?
  /// The size of the members of the `AuditLink` in bytes.
  private let linkSize: Int

  /// Reads a line without its newline; returns `nil` if it is not a line of the log.
  package init?(_ line: Secret) {
    guard let object = try? JSONObject(line), let record = try? AuditRecord(object) else {
      return nil
    }
    self.record = record
    self.line = line
    sealed = (try? object["names"]?.base64()) ?? nil
    linkSize = line.withBytes { line in AuditLink.range(in: line)?.count ?? 0 }
  }

  /// The sealed names; empty if there are none.
  package var sealedNames: Secret { sealed ?? Secret(utf8: "") }
  /// Whether the line has names.
  package var hasNames: Bool { sealed != nil }

  /// Returns the names in the request; throws as `NameSeal.open` does.
  package func names(openedBy seal: NameSeal) throws(StorageError) -> RequestedNames? {
    guard let sealed else { return nil }
    let tail =
      linkSize + Self.beforeNames.utf8CodeUnitCount + base64Count(of: sealed.count)
      + Self.afterNames.utf8CodeUnitCount
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
