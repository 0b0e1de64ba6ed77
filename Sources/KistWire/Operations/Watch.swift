package import KistCore
internal import KistJSON

extension Operation where Input == WatchRequest, Output == Revision? {
  /// The later changes are not part of the reply: see `watching` and `WatchCredentials.remote`.
  static var watch: Self {
    Operation(
      name: "watch", keys: ["service"],
      names: { RequestedNames(service: $0.service, account: nil) }, request: .watchRequest,
      reply: .position)
  }
}

extension Codec<WatchRequest> {
  fileprivate static var watchRequest: Self {
    Self(
      read: { object throws(JSONError) in
        WatchRequest(service: try object["service"]?.string())
      },
      write: { request, writer in writer.member("service", request.service) })
  }
}

extension Codec<Revision?> {
  fileprivate static var position: Self {
    Self(
      read: { object throws(JSONError) in
        try object["position"].map { (value) throws(JSONError) in
          Revision(rawValue: try value.string())
        }
      },
      write: { position, writer in writer.member("position", position?.rawValue) })
  }
}

extension CredentialChange {
  /// Returns the text of one JSON object: the protocol's line for a change.
  package func json() -> Secret {
    JSONWriter.object { writer in
      writer.member("event", event)
      if let key { writer.members(of: key) }
      writer.member("revision", revision?.rawValue)
    }
  }

  /// The event's name in the protocol.
  package var event: String {
    switch self {
    case .saved: "saved"
    case .deleted: "deleted"
    case .reset: "reset"
    }
  }

  /// Reads a change.
  ///
  /// An unknown event comes from a newer kistd, and is read as a `reset`.
  init(_ object: JSONObject) throws(JSONError) {
    switch try object.required("event").string() {
    case "saved":
      self = .saved(
        try object.credentialKey(), Revision(rawValue: try object.required("revision").string()))
    case "deleted":
      self = .deleted(
        try object.credentialKey(),
        try object["revision"].map { (value) throws(JSONError) in
          Revision(rawValue: try value.string())
        })
    default: self = .reset
    }
  }
}
