internal import KistCore
package import KistJSON

extension AuditRecord: JSONMembers {
  init(_ object: JSONObject) throws(JSONError) {
    let moment = try object.required("time").moment()
    if let lost = try object["lost"]?.integer() {
      self.init(moment: moment, event: .lost(lost))
    } else {
      self.init(moment: moment, event: .request(try AuditedRequest(object)))
    }
  }

  /// Writes the protocol's `record`.
  package func write(to writer: inout JSONWriter) {
    let time = moment.rfc3339
    writer.member("time", ascii: time.span)
    switch event {
    case .lost(let count): writer.member("lost", count)
    case .request(let request):
      writer.members(
        ofRequest: request.operation, request.failure, microseconds: request.microseconds)
      writer.members(of: request.peer)
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

extension AuditedRequest {
  /// Reads a request; an unknown code or word comes from a newer kistd.
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    let outcome = try object.required("outcome").string()
    self.init(
      operation: try object["operation"]?.string(),
      failure: outcome == "ok" ? nil : StorageError.Code(rawValue: outcome) ?? .internal,
      microseconds: try object.required("microseconds").integer(),
      peer: AuditedPeer(
        pid: try object.required("pid").integer(), uid: try object.required("uid").integer(),
        unit: try object["unit"]?.string(), claims: try object["claims"]?.string(),
        evidence: AuditedPeer.Evidence(rawValue: try object.required("evidence").string()) ?? .pid))
    if let reason = try object["sealed"]?.string() {
      names = .sealed(StorageError.Code(rawValue: reason) ?? .internal)
    } else {
      let requested = try object.requestedNames()
      if requested != RequestedNames(service: nil, account: nil) { names = .open(requested) }
    }
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
    member("claims", peer.claims)
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
  /// Writes the three digits of milliseconds.
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
