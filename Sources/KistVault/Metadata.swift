package import KistCore

/// The metadata of a credential: everything except its secret and its revision.
package struct Metadata: Equatable, Sendable {
  /// The service and the account.
  package var key: CredentialKey
  /// The label.
  package var label: String?
  /// The attributes.
  package var attributes: Attributes
  /// When the credential was first saved.
  package var createdAt: Timestamp
  /// When it was last saved.
  package var modifiedAt: Timestamp
  /// When it expires.
  package var expiresAt: Timestamp?
  /// The fields that a later version of kist added.
  package var fields: Fields?
  /// Whether the row has further fields, which are sealed together with the secret.
  package var secretHasFields = false

  /// Returns the summary of the credential with this revision.
  package consuming func summary(at revision: Revision) -> CredentialSummary {
    CredentialSummary(
      key: key, label: label, attributes: attributes, createdAt: createdAt, modifiedAt: modifiedAt,
      expiresAt: expiresAt, revision: revision)
  }
}

extension Metadata {
  init(
    _ credential: NewCredential, createdAt: Timestamp, modifiedAt: Timestamp, fields: Fields? = nil
  ) {
    self.init(
      key: credential.key, label: credential.label, attributes: credential.attributes,
      createdAt: createdAt, modifiedAt: modifiedAt, expiresAt: credential.expiresAt,
      fields: fields)
  }

  private static let hasLabel: UInt32 = 1
  private static let hasExpiry: UInt32 = 2
  private static let hasFields: UInt32 = 4
  private static let hasSecretFields: UInt32 = 8

  func encoded() -> WipedBytes {
    var bytes = WipedBytes(capacity: 256)
    bytes.append(
      littleEndian: (label == nil ? 0 : Self.hasLabel) | (expiresAt == nil ? 0 : Self.hasExpiry)
        | (fields == nil ? 0 : Self.hasFields) | (secretHasFields ? Self.hasSecretFields : 0))
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
    if let fields { bytes.append(fields) }
    return bytes
  }

  /// Decodes metadata; throws `corrupt` if the metadata breaks a rule that every save keeps.
  ///
  /// - Parameter found: the key of the request that looked for the row. Metadata with another key is
  ///   `corrupt`. The names in this key are already checked against the limits.
  init(decoding bytes: Span<UInt8>, foundBy found: CredentialKey? = nil) throws(StorageError) {
    var reader = ByteReader()
    let flags = try Self.flags(&reader, from: bytes)
    let createdAt = try Self.timestamp(reader.integer(from: bytes))
    let modifiedAt = try Self.timestamp(reader.integer(from: bytes))
    let expiry = try Self.timestamp(reader.integer(from: bytes))
    let key: CredentialKey
    if let found {
      try reader.skip(found, in: bytes)
      key = found
    } else {
      key = try reader.credentialKey(from: bytes)
    }
    let label = try reader.text(from: bytes)
    var attributes = Attributes()
    let count = try reader.integer(UInt32.self, from: bytes)
    // Checked first, because inserting a very large forged number of attributes would be slow.
    guard count <= Limits.attributes else { throw .beyondLimits }
    for index in 0..<Int(count) {
      let name = try reader.text(from: bytes)
      attributes[name] = try reader.text(from: bytes)
      // A repeated name does not increase the count, and a name out of order is not the last one after
      // sorting. So this check rejects both.
      guard attributes.count == index + 1, attributes.sorted[index].name.hasSameBytes(as: name)
      else { throw .malformed }
    }
    let hasFields = flags & Self.hasFields != 0
    if !hasFields { try reader.finish(bytes) }
    let fields = hasFields ? try Fields(decoding: bytes.extracting(reader.offset...)) : nil
    guard
      flags & Self.hasLabel != 0 || label.isEmpty,
      flags & Self.hasExpiry != 0 || expiry.secondsSinceEpoch == 0
    else { throw .malformed }
    guard found != nil || key.isWithinLimits, areWithinLimits(label, attributes) else {
      throw .beyondLimits
    }
    // Sets all properties in one call. Setting them one by one, between calls that can throw, would
    // copy the value.
    self.init(
      key: key, label: flags & Self.hasLabel == 0 ? nil : label, attributes: attributes,
      createdAt: createdAt, modifiedAt: modifiedAt,
      expiresAt: flags & Self.hasExpiry == 0 ? nil : expiry,
      fields: fields, secretHasFields: flags & Self.hasSecretFields != 0)
  }

  static func key(decoding bytes: Span<UInt8>) throws(StorageError) -> CredentialKey {
    var reader = ByteReader()
    try reader.skip(28, of: bytes)
    return try reader.credentialKey(from: bytes)
  }

  /// Decodes the parts that a save keeps: the time of the first save, and the fields.
  ///
  /// Throws `corrupt` for the metadata of another credential than the one with this key.
  static func preserved(
    decoding bytes: Span<UInt8>, foundBy key: CredentialKey
  ) throws(StorageError) -> (createdAt: Timestamp, fields: Fields?, secretHasFields: Bool) {
    var reader = ByteReader()
    guard try flags(&reader, from: bytes) & (hasFields | hasSecretFields) != 0 else {
      let createdAt = try timestamp(reader.integer(from: bytes))
      // Skips the times of the last save and of the expiry.
      try reader.skip(16, of: bytes)
      try reader.skip(key, in: bytes)
      return (createdAt, nil, false)
    }
    let metadata = try Metadata(decoding: bytes, foundBy: key)
    return (metadata.createdAt, metadata.fields, metadata.secretHasFields)
  }

  /// Reads the flags; throws for unknown flags, because a save would lose the data that they
  /// announce.
  private static func flags(
    _ reader: inout ByteReader, from bytes: Span<UInt8>
  ) throws(StorageError) -> UInt32 {
    let flags = try reader.integer(UInt32.self, from: bytes)
    guard flags < 16 else { throw .malformed }
    return flags
  }

  private static func timestamp(_ seconds: Int64) throws(StorageError) -> Timestamp {
    guard let moment = Timestamp(secondsSinceEpoch: seconds) else { throw .malformed }
    return moment
  }
}

/// The fields that a later version of kist added to a row.
///
/// This version does not know them, and keeps them unchanged.
package struct Fields: Equatable, Sendable {
  /// The maximum size in bytes of the fields with the metadata, and of the fields with the secret.
  static let mostBytes = 32_768
  /// The bit in a field's tag that marks the field as critical.
  ///
  /// A version that does not know such a field must not overwrite the credential.
  private static let criticalBit: UInt32 = 1 << 31

  /// The tag, size and value of each field, ordered by tag.
  package let bytes: Secret
  /// Whether this version must not overwrite the credential.
  let needsLaterVersion: Bool

  /// Reads fields up to the end of the bytes; throws `corrupt` if there is none, or one is
  /// malformed.
  init(decoding bytes: Span<UInt8>) throws(StorageError) {
    guard bytes.count <= Self.mostBytes else { throw .malformed }
    var reader = ByteReader()
    var last: UInt32 = 0
    repeat {
      let tag = try reader.integer(UInt32.self, from: bytes)
      guard tag > last else { throw .malformed }
      try reader.skip(Int(reader.integer(UInt32.self, from: bytes)), of: bytes)
      last = tag
    } while reader.offset < bytes.count
    self.bytes = Secret(copying: bytes)
    needsLaterVersion = last & Self.criticalBit != 0
  }
}

extension WipedBytes {
  mutating func append(_ fields: Fields) { fields.bytes.withBytes { append($0) } }

  /// Appends fields and then their size, so that `removeFields` can find them from the end.
  mutating func appendWithSize(_ fields: Fields) {
    append(fields)
    append(littleEndian: UInt32(fields.bytes.count))
  }

  /// Removes and returns the fields that `appendWithSize` appended.
  mutating func removeFields() throws(StorageError) -> Fields {
    let size = try sizeAtEnd()
    let end = count - 4
    guard size <= end else { throw .malformed }
    let fields = try withBytes { bytes throws(StorageError) in
      try Fields(decoding: bytes.extracting(end - size..<end))
    }
    truncate(to: end - size)
    return fields
  }
}
