package import KistCore
internal import KistJSON

extension AuditVerdict {
  /// Returns the text of one JSON object: the protocol's reply to `auditVerify`.
  package func json() -> Secret { JSONWriter.object { $0.members(of: self) } }

  init(_ object: JSONObject) throws(JSONError) {
    self.init()
    verified = try object.required("verified").integer()
    unchained = try object.required("unchained").integer()
    unchecked = try object.required("unchecked").integer()
    since = try object["since"]?.moment()
    until = try object["until"]?.moment()
    fault = try object["fault"].map { (value) throws(JSONError) in try Fault(value.object()) }
  }
}

extension AuditVerdict.Fault {
  /// Reads a fault.
  ///
  /// An unknown kind comes from a newer kistd.
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    let first = try object.required("first").integer()
    self.init(
      AuditVerdict.Kind(rawValue: try object.required("kind").string()) ?? .changed,
      file: try object.required("file").string(),
      lines: first...max(first, try object.required("last").integer()),
      count: try object["count"]?.integer())
  }
}

extension JSONWriter {
  mutating func members(of verdict: AuditVerdict) {
    member("verified", verdict.verified)
    member("unchained", verdict.unchained)
    member("unchecked", verdict.unchecked)
    member("since", verdict.since?.description)
    member("until", verdict.until?.description)
    guard let fault = verdict.fault else { return }
    member("fault") { (writer: inout JSONWriter) in
      writer.member("kind", fault.kind.rawValue)
      writer.member("file", fault.file)
      writer.member("first", fault.lines.lowerBound)
      writer.member("last", fault.lines.upperBound)
      writer.member("count", fault.count)
    }
  }
}
