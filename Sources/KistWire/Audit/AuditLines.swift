package import KistCore
internal import KistJSON

/// Lines of the audit log, one behind the other: `AuditLine.Content` reads one of them.
///
/// What lines have in common is put into words once: it would be most of the work.
package struct AuditLines: ~Copyable {
  /// A client, with the members that tell of it in each of its lines.
  package struct Client: Sendable {
    fileprivate let members: [UInt8]

    package init(_ peer: AuditedPeer) {
      members = AuditLines.members(of: JSONWriter.object { $0.members(of: peer) })
    }
  }

  private var text: [UInt8] = []
  private let seal: NameSeal.Sealing?
  private var time = Time()
  private var kind = Kind(RequestNotes.Note())
  // What a line is put together in.
  private var line = WipedBytes(capacity: 1024)
  private var sealed = WipedBytes(capacity: 256)

  /// Begins lines in which names are sealed, or left out where nothing seals them.
  package init(capacity: Int, sealedBy seal: NameSeal?) {
    text.reserveCapacity(capacity)
    self.seal = seal?.begin()
  }

  /// How many bytes there are.
  package var count: Int { text.count }

  /// Lends the bytes for the length of a call.
  package borrowing func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result { try body(text.span) }

  /// Forgets all lines, and keeps the memory.
  package mutating func removeAll() { text.removeAll(keepingCapacity: true) }

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
    if let names = note.names, let seal {
      sealed.removeAll()
      Self.seal(names, with: seal, boundTo: line, into: &sealed)
      AuditLine.beforeNames.withBytes { line.append($0) }
      Self.append(sealed, to: &line)
      line.append(UInt8(ascii: "\""))
    }
    end()
  }

  /// Appends the line that so many requests were not written.
  package mutating func append(lost count: Int, at moment: AuditRecord.Moment) {
    begin(at: moment)
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
    Self.append(line, to: &text)
  }
}

// Functions of the parts, since a closure that uses one of them takes hold of them all.
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

  private static func append(_ line: borrowing WipedBytes, to text: inout [UInt8]) {
    line.withBytes { line in
      unsafe line.withUnsafeBufferPointer { unsafe text.append(contentsOf: $0) }
    }
  }

  /// The members of an object, to be written behind others.
  private static func members(of object: Secret) -> [UInt8] {
    object.withBytes { object in
      [UInt8(ascii: ",")] + (1..<object.count - 1).map { object[$0] }
    }
  }

  /// The brace and the first member of a line, whose second is written only where it is another one.
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

  /// What was asked and how it ended, which is seldom another than before.
  private struct Kind {
    private let operation: String
    private let failure: StorageError.Code?
    /// Up to the number of microseconds.
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
