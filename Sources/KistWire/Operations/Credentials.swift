package import KistCore
internal import KistJSON

extension Operation where Input == WithEncoding<LoadRequest>, Output == WithEncoding<Credential> {
  /// Loads a credential with its secret.
  static var load: Self {
    Operation(
      name: "load", keys: ["service", "account", "encoding", "allowExpired", "maxStale"],
      loggedNames: { RequestedNames($0.value.key) }, request: loadRequest, reply: loadedCredential)
  }

  /// Returns the server's function, which encodes the secret as the client requested.
  func servedInRequestedEncoding(
    by load: @escaping @Sendable (LoadRequest) async throws(StorageError) -> Credential
  ) -> NotedExchange {
    { message, note throws(StorageError) in
      let request = try decodeRequest(message, noting: &note)
      return try encodeReply(
        WithEncoding(value: try await load(request.value), encoding: request.encoding))
    }
  }
}

/// A load request or its reply, with the encoding of the secret that the client requested, if any.
struct WithEncoding<Value: Sendable>: Sendable {
  var value: Value
  var encoding: SecretEncoding?
}

private let loadRequest = Codec<WithEncoding<LoadRequest>>(
  read: { object throws(JSONError) in
    WithEncoding(
      value: LoadRequest(
        key: try object.credentialKey(),
        allowExpired: try object["allowExpired"]?.bool() ?? false,
        maxStale: try object["maxStale"]?.seconds()),
      encoding: try object["encoding"]?.secretEncoding())
  },
  write: { request, writer in
    writer.members(of: request.value.key)
    writer.member("encoding", request.encoding?.rawValue)
    if request.value.allowExpired { writer.member("allowExpired", true) }
    writer.member("maxStale", request.value.maxStale.map { Int($0) })
  })

private let loadedCredential = Codec<WithEncoding<Credential>>(
  read: { object throws(JSONError) in
    WithEncoding(value: try Credential(object.required("credential").object()))
  },
  write: { reply, writer throws(StorageError) in
    try writer.member("credential") { (writer) throws(StorageError) in
      writer.members(of: reply.value.summary)
      try writer.member(secret: reply.value.secret, as: reply.encoding)
      writer.member("asOf", reply.value.asOf)
    }
  })

extension Operation where Input == SaveRequest, Output == CredentialSummary {
  /// Saves a credential, and replaces the one with the same names if the condition permits it.
  static var save: Self {
    Operation(
      name: "save", effect: .change,
      keys: [
        "service", "account", "secret", "secretBase64", "label", "attributes", "expiresAt",
        "ifRevision", "keep",
      ],
      loggedNames: { RequestedNames($0.credential.key) }, request: saveRequest,
      reply: savedCredential)
  }
}

private let saveRequest = Codec<SaveRequest>(
  read: { object throws(JSONError) in
    SaveRequest(
      credential: try NewCredential(object),
      condition: try object["ifRevision"].map { (value) throws(JSONError) -> Condition in
        value.isNull ? .ifAbsent : .ifRevision(try value.revision())
      } ?? .always,
      keep: try object["keep"]?.keptFields() ?? KeptFields())
  },
  write: { request, writer throws(StorageError) in
    let credential = request.credential
    writer.members(of: credential.key)
    try writer.member(secret: credential.secret, as: nil)
    writer.member("label", credential.label)
    if !credential.attributes.isEmpty { writer.members(of: credential.attributes) }
    writer.member("expiresAt", credential.expiresAt)
    switch request.condition {
    case .always: break
    case .ifAbsent: writer.memberNull("ifRevision")
    case .ifRevision(let revision): writer.member("ifRevision", revision.rawValue)
    }
    if !request.keep.isEmpty {
      writer.member("keep", arrayOf: request.keep.names) { $1.element($0) }
    }
  })

private let savedCredential = Codec<CredentialSummary>(
  read: { object throws(JSONError) in
    try CredentialSummary(object.required("credential").object())
  },
  write: { summary, writer in writer.member("credential", object: summary) })

extension Operation where Input == DeleteRequest, Output == Bool {
  /// Deletes a credential.
  static var delete: Self {
    Operation(
      name: "delete", effect: .change, keys: ["service", "account", "ifRevision"],
      loggedNames: { RequestedNames($0.key) }, request: deleteRequest, reply: deletedMember)
  }
}

private let deleteRequest = Codec<DeleteRequest>(
  read: { object throws(JSONError) in
    DeleteRequest(
      key: try object.credentialKey(), ifRevision: try object["ifRevision"]?.revision())
  },
  write: { request, writer in
    writer.members(of: request.key)
    writer.member("ifRevision", request.ifRevision?.rawValue)
  })

/// Returns a JSON object with the one member `deleted`, as in the reply to `delete`.
package func json(deleted existed: Bool) -> Secret {
  JSONWriter.object { $0.member("deleted", existed) }
}

private let deletedMember = Codec<Bool>(
  read: { object throws(JSONError) in try object.required("deleted").bool() },
  write: { deleted, writer in writer.member("deleted", deleted) })

extension Operation where Input == CredentialQuery, Output == CredentialPage {
  /// Lists credentials, without their secrets.
  static var find: Self {
    Operation(
      name: "find", keys: ["service", "account", "attributes", "limit", "after"],
      loggedNames: { RequestedNames(service: $0.service, account: $0.account) },
      request: credentialQuery, reply: credentialPage)
  }

  /// Returns the server's function.
  ///
  /// If a page is too long for a line, the function looks up half as many credentials, until the
  /// page fits.
  func servedWithinALine(by find: @escaping Run) -> NotedExchange {
    { request, note throws(StorageError) in
      var query = try decodeRequest(request, noting: &note)
      while true {
        let page = try await find(query)
        let reply = try encodeReply(page)
        if reply.count <= Limits.line - envelopeSize || page.credentials.count <= 1 { return reply }
        query.limit = page.credentials.count / 2
      }
    }
  }
}

/// The number of bytes to leave free for `ok` and `id` in a reply.
///
/// An `id` has at most 128 bytes. In JSON, each of them may become an escape of 6 bytes, such as
/// `\u0000`, so an `id` takes at most 768 bytes.
private let envelopeSize = 1024

private let credentialQuery = Codec<CredentialQuery>(
  read: { object throws(JSONError) in
    CredentialQuery(
      service: try object["service"]?.string(), account: try object["account"]?.string(),
      attributes: try object.attributes(),
      limit: try object["limit"]?.integer() ?? Limits.page,
      after: try object["after"]?.string())
  },
  write: { query, writer in
    writer.member("service", query.service)
    writer.member("account", query.account)
    if !query.attributes.isEmpty { writer.members(of: query.attributes) }
    if query.limit != Limits.page { writer.member("limit", query.limit) }
    writer.member("after", query.after)
  })

private let credentialPage = Codec<CredentialPage>(
  read: { object throws(JSONError) in
    CredentialPage(
      credentials: try object.objects("credentials", CredentialSummary.init),
      next: try object["next"]?.string())
  },
  write: { page, writer in writer.members(of: page) })
