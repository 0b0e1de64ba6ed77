internal import KistCore
internal import KistJSON

extension Operation where Input == CredentialQuery, Output == CredentialPage {
  /// Lists credentials, without their secrets.
  static var find: Self {
    Operation(
      name: "find", keys: ["service", "account", "attributes", "limit", "after"],
      names: .query, request: credentialQuery, reply: credentialPage)
  }

  /// Returns the server's end.
  ///
  /// While a page is too long for a line, it asks for half as many credentials.
  func servedWithinALine(by find: @escaping Run) -> Exchange {
    { request throws(StorageError) in
      var query = try decodeRequest(request)
      while true {
        let page = try await find(query)
        let reply = try encodeReply(page)
        if reply.count <= Limits.line - envelopeSize || page.credentials.count <= 1 { return reply }
        query.limit = page.credentials.count / 2
      }
    }
  }
}

/// The most bytes that `ok` and an `id` of 128 escaped bytes need.
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
