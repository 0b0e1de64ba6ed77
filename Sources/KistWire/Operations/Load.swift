internal import KistCore
internal import KistJSON

extension Operation where Input == Encoded<LoadRequest>, Output == Encoded<Credential> {
  /// Loads a credential with its secret.
  static var load: Self {
    Operation(
      name: "load", keys: ["service", "account", "encoding", "allowExpired"],
      names: .key, request: loadRequest, reply: loadedCredential)
  }

  /// Returns the server's end, which answers in the requested encoding.
  func servedAsAsked(
    by load: @escaping @Sendable (LoadRequest) async throws(StorageError) -> Credential
  ) -> Exchange {
    { message throws(StorageError) in
      let request = try decodeRequest(message)
      return try encodeReply(Encoded(try await load(request.value), as: request.encoding))
    }
  }
}

/// A value, and the encoding of secrets in the reply to it; `nil` if the client does not choose
/// one.
struct Encoded<Value: Sendable>: Sendable {
  var value: Value
  var encoding: SecretEncoding?

  init(_ value: Value, as encoding: SecretEncoding? = nil) {
    self.value = value
    self.encoding = encoding
  }
}

private let loadRequest = Codec<Encoded<LoadRequest>>(
  read: { object throws(JSONError) in
    Encoded(
      LoadRequest(
        key: try object.credentialKey(),
        allowExpired: try object["allowExpired"]?.bool() ?? false),
      as: try object["encoding"]?.secretEncoding())
  },
  write: { request, writer in
    writer.members(of: request.value.key)
    writer.member("encoding", request.encoding?.rawValue)
    if request.value.allowExpired { writer.member("allowExpired", true) }
  })

private let loadedCredential = Codec<Encoded<Credential>>(
  read: { object throws(JSONError) in
    Encoded(try Credential(object.required("credential").object()))
  },
  write: { reply, writer throws(StorageError) in
    try writer.member("credential") { (writer) throws(StorageError) in
      writer.members(of: reply.value.summary)
      try writer.member(secret: reply.value.secret, as: reply.encoding)
    }
  })
