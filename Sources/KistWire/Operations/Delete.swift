package import KistCore
internal import KistJSON

extension Operation where Input == DeleteRequest, Output == Bool {
  /// Deletes a credential.
  static var delete: Self {
    Operation(
      name: "delete", effect: .change, keys: ["service", "account", "ifRevision"],
      names: .key, request: deleteRequest, reply: deletedMember)
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

/// Returns the text of one JSON object: the protocol's `deleted`.
package func json(deleted wasThere: Bool) -> Secret {
  JSONWriter.object { $0.member("deleted", wasThere) }
}

private let deletedMember = Codec<Bool>(
  read: { object throws(JSONError) in try object.required("deleted").bool() },
  write: { deleted, writer in writer.member("deleted", deleted) })
