internal import KistCore
internal import KistJSON

/// The data of a credential besides its secret.
///
/// It is stored in the item's attribute `kist`, without the key, as a JSON object in base64.
struct Bookkeeping: Equatable {
  /// The number that grows with each save of a key; of two items of a key, the higher one is newer.
  let generation: Int
  let summary: CredentialSummary

  /// Creates the next state of a key.
  init(
    _ credential: NewCredential, after current: Item?, revision: Revision, at now: Timestamp
  ) {
    // Does not start at 1, because a keyring that is out of reach now may have an older item of the
    // key.
    generation = max((current?.generation ?? 0) + 1, Int(clamping: now.secondsSinceEpoch))
    summary = CredentialSummary(
      of: credential, createdAt: current?.summary.createdAt ?? now, modifiedAt: now,
      revision: revision)
  }
}

extension Bookkeeping {
  private static let version = 1
  private static let names: [StaticString] = [
    "version", "generation", "revision", "label", "attributes", "createdAt", "modifiedAt",
    "expiresAt",
  ]

  var encoded: String {
    JSONWriter.object { writer in
      writer.member("version", Self.version)
      writer.member("generation", generation)
      writer.member("revision", summary.revision.rawValue)
      writer.member("label", summary.label)
      writer.member("attributes") { writer in
        for (name, value) in summary.attributes.sorted { writer.member(escaping: name, value) }
      }
      writer.member("createdAt", summary.createdAt)
      writer.member("modifiedAt", summary.modifiedAt)
      writer.member("expiresAt", summary.expiresAt)
    }.withBytes(base64)
  }

  init(
    decoding encoded: String, of key: CredentialKey, at item: ObjectPath
  ) throws(StorageError) {
    guard let json = encoded.withBytes(decodedBase64) else {
      throw .damagedBookkeeping(item, "is not base64")
    }
    do throws(JSONError) {
      let object = try JSONObject(json)
      guard try object.required("version").integer() == Self.version else {
        throw try object.required("version").error("is of a newer kist")
      }
      try object.refuseKeys(besides: Self.names)
      generation = try object.required("generation").integer()
      guard (1..<1 << 52).contains(generation) else {
        throw try object.required("generation").error("is out of range")
      }
      let revision = Revision(rawValue: try object.required("revision").string())
      guard (1...64).contains(revision.rawValue.utf8.count),
        revision.rawValue.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { throw try object.required("revision").error("is not a revision") }
      summary = CredentialSummary(
        key: key, label: try object["label"]?.string(),
        attributes: Attributes(
          Dictionary(
            try object.required("attributes").strings().map { ($0.name, $0.value) },
            uniquingKeysWith: { $1 })),
        createdAt: try object.required("createdAt").moment(),
        modifiedAt: try object.required("modifiedAt").moment(),
        expiresAt: try object["expiresAt"]?.moment(), revision: revision)
    } catch { throw .damagedBookkeeping(item, "is wrong at \(error.description)") }
  }
}

extension JSONValue {
  fileprivate func moment() throws(JSONError) -> Timestamp {
    guard let moment = Timestamp(rfc3339: try string()) else { throw error("is not a time") }
    return moment
  }
}
