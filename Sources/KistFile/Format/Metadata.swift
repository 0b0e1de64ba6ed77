internal import KistCore

/// What is sealed beside a secret: all of a credential but its secret and its revision.
struct Metadata: Equatable, Sendable {
  var key: CredentialKey
  var label: String?
  var attributes: Attributes
  var createdAt: Timestamp
  var modifiedAt: Timestamp
  var expiresAt: Timestamp?

  /// The summary of the credential once its revision is known.
  consuming func summary(at revision: Revision) -> CredentialSummary {
    CredentialSummary(
      key: key, label: label, attributes: attributes, createdAt: createdAt, modifiedAt: modifiedAt,
      expiresAt: expiresAt, revision: revision)
  }
}

extension Metadata {
  init(_ credential: NewCredential, createdAt: Timestamp, modifiedAt: Timestamp) {
    self.init(
      key: credential.key, label: credential.label, attributes: credential.attributes,
      createdAt: createdAt, modifiedAt: modifiedAt, expiresAt: credential.expiresAt)
  }

  private static let hasLabel: UInt32 = 1
  private static let hasExpiry: UInt32 = 2

  func encoded() -> WipedBytes {
    var bytes = WipedBytes(capacity: 256)
    bytes.append(
      littleEndian: (label == nil ? 0 : Self.hasLabel) | (expiresAt == nil ? 0 : Self.hasExpiry))
    bytes.append(littleEndian: createdAt.secondsSinceEpoch)
    bytes.append(littleEndian: modifiedAt.secondsSinceEpoch)
    bytes.append(littleEndian: expiresAt?.secondsSinceEpoch ?? 0)
    bytes.append(text: key.service)
    bytes.append(text: key.account)
    bytes.append(text: label ?? "")
    bytes.append(littleEndian: UInt32(attributes.count))
    for (name, value) in attributes.sorted {
      bytes.append(text: name)
      bytes.append(text: value)
    }
    return bytes
  }

  init(decoding bytes: Span<UInt8>) throws(StorageError) {
    var reader = ByteReader()
    let flags = try reader.integer(UInt32.self, from: bytes)
    let createdAt = try Self.timestamp(reader.integer(from: bytes))
    let modifiedAt = try Self.timestamp(reader.integer(from: bytes))
    let expiry = try Self.timestamp(reader.integer(from: bytes))
    let key = CredentialKey(
      service: try reader.text(from: bytes), account: try reader.text(from: bytes))
    let label = try reader.text(from: bytes)
    var attributes = Attributes()
    for _ in 0..<(try reader.integer(UInt32.self, from: bytes)) {
      let name = try reader.text(from: bytes)
      attributes[name] = try reader.text(from: bytes)
    }
    try reader.finish(bytes)
    // All at once: what fills a value piece by piece, and may throw between, copies it in the end.
    self.init(
      key: key, label: flags & Self.hasLabel == 0 ? nil : label, attributes: attributes,
      createdAt: createdAt, modifiedAt: modifiedAt,
      expiresAt: flags & Self.hasExpiry == 0 ? nil : expiry)
  }

  /// Of all of it only when the credential was made.
  static func createdAt(decoding bytes: Span<UInt8>) throws(StorageError) -> Timestamp {
    var reader = ByteReader()
    _ = try reader.integer(UInt32.self, from: bytes)
    return try timestamp(reader.integer(from: bytes))
  }

  private static func timestamp(_ seconds: Int64) throws(StorageError) -> Timestamp {
    guard let moment = Timestamp(secondsSinceEpoch: seconds) else { throw .malformed }
    return moment
  }
}
