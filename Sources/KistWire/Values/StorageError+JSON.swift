package import KistCore
package import KistJSON

extension StorageError: JSONMembers {
  /// Reads an error; an unknown code or outcome comes from a newer kistd.
  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      Code(rawValue: try object.required("code").string()) ?? .internal,
      try object.required("message").string(), hint: try object["hint"]?.string(),
      outcome: (try object["outcome"]?.string()).map { Outcome(rawValue: $0) ?? .unknown },
      current: try object["current"].map { (value) throws(JSONError) in
        value.isNull ? .absent : .revision(try value.revision())
      })
  }

  /// Writes the protocol's `error`.
  package func write(to writer: inout JSONWriter) {
    writer.member("code", code.rawValue)
    writer.member("message", message)
    writer.member("hint", hint)
    writer.member("outcome", outcome?.rawValue)
    switch current {
    case nil: break
    case .absent: writer.memberNull("current")
    case .revision(let revision): writer.member("current", revision.rawValue)
    }
  }
}
