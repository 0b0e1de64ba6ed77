package import KistCore
internal import KistJSON

extension StorageError {
  /// Returns the text of one JSON object: the protocol's `error`.
  package func json() -> Secret { JSONWriter.object { $0.members(of: self) } }

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
}

extension JSONWriter {
  mutating func members(of error: StorageError) {
    member("code", error.code.rawValue)
    member("message", error.message)
    member("hint", error.hint)
    member("outcome", error.outcome?.rawValue)
    switch error.current {
    case nil: break
    case .absent: memberNull("current")
    case .revision(let revision): member("current", revision.rawValue)
    }
  }
}
