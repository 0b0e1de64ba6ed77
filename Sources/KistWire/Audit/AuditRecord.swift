package import KistCore
package import KistJSON

/// One line of the audit log: a request, or the number of requests that were not written.
package struct AuditRecord: Sendable, Equatable, JSONMembers {
  /// When the request arrived; of lost requests, when their number was written.
  package var moment: Moment
  package var event: Event

  package enum Event: Sendable, Equatable {
    case request(AuditedRequest)
    /// The number of requests before this line that were not written.
    case lost(Int)
  }

  /// A moment to the millisecond.
  package struct Moment: Sendable, Equatable {
    package var second: Timestamp
    /// 0 to 999.
    package var milliseconds: Int

    package init(second: Timestamp, milliseconds: Int) {
      self.second = second
      self.milliseconds = milliseconds
    }
  }

  package init(moment: Moment, event: Event) {
    self.moment = moment
    self.event = event
  }

  init(_ object: JSONObject) throws(JSONError) {
    let moment = try object.required("time").moment()
    if let lost = try object["lost"]?.integer() {
      self.init(moment: moment, event: .lost(lost))
    } else {
      self.init(moment: moment, event: .request(try AuditedRequest(object)))
    }
  }

  /// Writes an element of `records` in the reply to `audit`.
  package func write(to writer: inout JSONWriter) {
    let time = moment.rfc3339
    writer.member("time", ascii: time.span)
    switch event {
    case .lost(let count): writer.member("lost", count)
    case .request(let request):
      writer.members(
        ofRequest: request.operation, request.failure, microseconds: request.microseconds)
      writer.members(of: request.peer)
      if let program = request.onBehalfOf { writer.member("onBehalfOf", object: program) }
      switch request.names {
      case nil: break
      case .sealed(let reason): writer.member("sealed", reason.rawValue)
      case .open(let names):
        writer.member("service", names.service)
        writer.member("account", names.account)
      }
    }
  }
}

/// A request, its client, and its result: `ok` or the code of the error.
package struct AuditedRequest: Sendable, Equatable {
  /// The operation; `nil` if it could not be read or does not exist.
  package var operation: String?
  /// The error code; `nil` if the request succeeded.
  package var failure: StorageError.Code?
  /// `ok`, or the code of the error.
  package var outcome: String { failure?.rawValue ?? "ok" }
  /// The duration of the request.
  package var microseconds: Int
  package var peer: AuditedPeer
  /// The program for which the client made the request, as the client stated it.
  package var onBehalfOf: ClaimedProgram?
  package var names: Names?

  /// The names in the request, or the reason why they cannot be read.
  package enum Names: Sendable, Equatable {
    case open(RequestedNames)
    /// The names cannot be opened, for a reason such as `locked`.
    case sealed(StorageError.Code)
  }

  package init(
    operation: String?, failure: StorageError.Code?, microseconds: Int, peer: AuditedPeer,
    onBehalfOf: ClaimedProgram? = nil, names: Names? = nil
  ) {
    self.operation = operation
    self.failure = failure
    self.microseconds = microseconds
    self.peer = peer
    self.onBehalfOf = onBehalfOf
    self.names = names
  }

  /// Reads a request.
  ///
  /// A newer kistd may have written unknown words. An unknown code is read as `internal`, and
  /// unknown evidence as `pid`.
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    let outcome = try object.required("outcome").string()
    self.init(
      operation: try object["operation"]?.string(),
      failure: outcome == "ok" ? nil : StorageError.Code(rawValue: outcome) ?? .internal,
      microseconds: try object.required("microseconds").integer(),
      peer: AuditedPeer(
        pid: try object.required("pid").integer(), uid: try object.required("uid").integer(),
        unit: try object["unit"]?.string(), claimedName: try object["claims"]?.string(),
        evidence: AuditedPeer.Evidence(rawValue: try object.required("evidence").string()) ?? .pid),
      onBehalfOf: try object["onBehalfOf"].map { (value) throws(JSONError) in
        try ClaimedProgram(value.object())
      })
    if let reason = try object["sealed"]?.string() {
      names = .sealed(StorageError.Code(rawValue: reason) ?? .internal)
    } else {
      let requested = try object.requestedNames()
      if requested != RequestedNames(service: nil, account: nil) { names = .open(requested) }
    }
  }
}

/// The process that a request came from.
package struct AuditedPeer: Sendable, Equatable {
  package var pid: Int
  package var uid: Int
  /// The systemd unit that the process ran in.
  package var unit: String?
  /// The name that the process gave itself.
  package var claimedName: String?
  /// How the unit and the name were found.
  package var evidence: Evidence

  package enum Evidence: String, Sendable {
    /// By the pid; the kernel confirmed that it was still the pid of the same process.
    case pidfd
    /// By the pid, which may already have belonged to another process.
    case pid
    /// Not found: the process had ended.
    case gone
  }

  package init(pid: Int, uid: Int, unit: String?, claimedName: String?, evidence: Evidence) {
    self.pid = pid
    self.uid = uid
    self.unit = unit
    self.claimedName = claimedName
    self.evidence = evidence
  }
}

extension JSONWriter {
  mutating func members(
    ofRequest operation: String?, _ failure: StorageError.Code?, microseconds: Int
  ) {
    member("operation", operation)
    member("outcome", failure?.rawValue ?? "ok")
    member("microseconds", microseconds)
  }

  mutating func members(of peer: AuditedPeer) {
    member("pid", peer.pid)
    member("uid", peer.uid)
    member("unit", peer.unit)
    member("claims", peer.claimedName)
    member("evidence", peer.evidence.rawValue)
  }
}

extension AuditRecord.Moment: CustomStringConvertible {
  /// The time in UTC in the format of RFC 3339: `2026-11-20T10:00:00.123Z`.
  package var description: String {
    let text = rfc3339
    return String(repairing: text.span)
  }

  var rfc3339: InlineArray<24, UInt8> {
    let seconds = second.rfc3339
    var text = InlineArray<24, UInt8>(repeating: UInt8(ascii: "Z"))
    for offset in 0..<19 { text[offset] = seconds[offset] }
    text[19] = UInt8(ascii: ".")
    text.put(milliseconds: milliseconds, at: 20)
    return text
  }
}

extension InlineArray where Element == UInt8 {
  mutating func put(milliseconds: Int, at offset: Int) {
    self[offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: milliseconds / 100)
    self[offset + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: milliseconds / 10 % 10)
    self[offset + 2] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: milliseconds % 10)
  }
}

extension JSONValue {
  func moment() throws(JSONError) -> AuditRecord.Moment {
    let text = try string()
    let digits = text.utf8.dropFirst(20)
    guard
      text.utf8.count == 24, digits.last == UInt8(ascii: "Z"),
      let second = Timestamp(rfc3339: text),
      let milliseconds = Int(text.dropFirst(20).prefix(3)), milliseconds >= 0
    else { throw error("is not a date and time with milliseconds") }
    return AuditRecord.Moment(second: second, milliseconds: milliseconds)
  }
}
