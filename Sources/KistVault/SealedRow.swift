package import KistCore
internal import KistSodium

/// A row: a credential as stored in the file.
package struct SealedRow: Equatable, Sendable {
  /// The identity to which both sealed parts are bound.
  package var identity: RowIdentity
  /// The sealed metadata.
  package var metadata: [UInt8]
  /// The sealed secret.
  package var secret: [UInt8]

  package init(identity: RowIdentity, metadata: [UInt8], secret: [UInt8]) {
    (self.identity, self.metadata, self.secret) = (identity, metadata, secret)
  }

  /// The parts of a row that a save keeps when it replaces the row.
  struct Preserved: Sendable {
    let createdAt: Timestamp
    /// The fields stored with the metadata.
    let fields: Fields?
    /// The fields sealed with the secret.
    let secretFields: Fields?

    /// Whether this version must not overwrite the credential.
    var needsLaterVersion: Bool {
      fields?.needsLaterVersion == true || secretFields?.needsLaterVersion == true
    }
  }
}

/// A row after it was verified and decrypted.
package struct OpenedRow {
  /// All data of the credential except the secret and the revision.
  package let metadata: Metadata
  /// The secret.
  package let secret: Secret
  /// The fields stored with the secret.
  package let secretFields: Fields?
  /// The number of the change that wrote the row.
  package let sequence: UInt64
}

extension StoreKeys {
  /// Seals a row; `fields` are sealed together with the secret.
  package func seal(
    _ metadata: Metadata, _ secret: Secret, _ fields: Fields?, as identity: RowIdentity,
    _ nonces: inout Nonces
  ) -> SealedRow {
    var metadata = metadata
    metadata.secretHasFields = fields != nil
    var secretBytes = WipedBytes(capacity: paddedSize(secret.count + 4))
    secret.withBytes { secretBytes.append($0) }
    if let fields { secretBytes.appendWithSize(fields) }
    return SealedRow(
      identity: identity,
      metadata: metadataSeal.seal(metadata.encoded(), as: identity, nonce: nonces.next()),
      secret: secretSeal.seal(secretBytes, as: identity, nonce: nonces.next()))
  }

  /// Opens the credential in a row that was found by its service and account.
  ///
  /// Throws `corrupt` if the row is not authentic with this identity, is malformed, exceeds a limit, or
  /// belongs to another credential.
  package func openCredential(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, as identity: RowIdentity,
    foundBy key: CredentialKey,
    in epoch: Epoch
  ) throws(StorageError) -> Credential {
    let metadata = try openMetadata(metadata, as: identity, foundBy: key)
    let (secret, _) = try openSecret(secret, hasFields: metadata.secretHasFields, as: identity)
    return Credential(
      summary: metadata.summary(at: epoch.revision(of: identity.sequence)), secret: secret)
  }

  /// Opens the metadata of a row.
  ///
  /// Throws `corrupt` if the row is not authentic with this identity, is malformed, exceeds a limit, or
  /// belongs to another credential.
  ///
  /// - Parameter key: the service and the account by which the row was found; without them, the
  ///   tags of the row are checked.
  package func openMetadata(
    _ sealed: Span<UInt8>, as identity: RowIdentity, foundBy key: CredentialKey? = nil
  ) throws(StorageError) -> Metadata {
    let metadata = try metadataSeal.open(sealed, as: identity)
      .withBytes { bytes throws(StorageError) in
        try Metadata(decoding: bytes, foundBy: key)
      }
    guard key != nil || tag(of: metadata.key) == identity.tag else { throw .anotherCredential }
    return metadata
  }

  /// Opens only the service and the account of a row, even if other parts exceed the limits.
  package func openCredentialKey(
    _ sealed: Span<UInt8>, as identity: RowIdentity
  ) throws(StorageError) -> CredentialKey {
    try metadataSeal.open(sealed, as: identity)
      .withBytes { bytes throws(StorageError) in try Metadata.key(decoding: bytes) }
  }

  /// Opens the secret of a row whose metadata is already open, and returns the whole row.
  ///
  /// Throws `corrupt` if the secret is not authentic or exceeds the limits.
  package func openRow(
    _ sealed: Span<UInt8>, of metadata: consuming Metadata, as identity: RowIdentity
  ) throws(StorageError) -> OpenedRow {
    let (secret, fields) = try openSecret(sealed, hasFields: metadata.secretHasFields, as: identity)
    return OpenedRow(
      metadata: metadata, secret: secret, secretFields: fields, sequence: identity.sequence)
  }

  /// Opens the secret of a row, and the fields that are sealed with it.
  private func openSecret(
    _ sealed: Span<UInt8>, hasFields: Bool, as identity: RowIdentity
  ) throws(StorageError) -> (Secret, Fields?) {
    var bytes = try secretSeal.open(sealed, as: identity)
    let fields = hasFields ? try bytes.removeFields() : nil
    guard bytes.count <= Limits.secret else { throw .beyondLimits }
    return (Secret(bytes), fields)
  }

  /// Verifies both parts of a row, and returns what a save keeps of it.
  ///
  /// Throws `corrupt` when the row is not authentic, or is that of another credential.
  func openPreserved(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, as identity: RowIdentity,
    foundBy key: CredentialKey
  ) throws(StorageError) -> SealedRow.Preserved {
    let preserved = try metadataSeal.open(metadata, as: identity)
      .withBytes { bytes throws(StorageError) in
        try Metadata.preserved(decoding: bytes, foundBy: key)
      }
    var secretFields: Fields?
    if preserved.secretHasFields {
      (_, secretFields) = try openSecret(secret, hasFields: true, as: identity)
    } else {
      try secretSeal.authenticate(secret, as: identity)
    }
    return SealedRow.Preserved(
      createdAt: preserved.createdAt, fields: preserved.fields, secretFields: secretFields)
  }

  /// Throws `corrupt` unless both sealed parts of a row are authentic.
  ///
  /// Does not decrypt them.
  package func authenticate(_ row: SealedRow) throws(StorageError) {
    try metadataSeal.authenticate(row.metadata.span, as: row.identity)
    try secretSeal.authenticate(row.secret.span, as: row.identity)
  }

  /// Returns the hash of a row.
  ///
  /// It covers the tags, the sequence, and the last 16 bytes of both sealed parts, which
  /// authenticate these parts.
  package func hash(of row: SealedRow) -> RowSum {
    hash(row.metadata.span, row.secret.span, as: row.identity)
  }

  /// Returns the hash of a row.
  ///
  /// The hash covers only the last 16 bytes of each sealed part. So the caller may pass the whole
  /// part, or only its end.
  func hash(_ metadata: Span<UInt8>, _ secret: Span<UInt8>, as identity: RowIdentity) -> RowSum {
    var bytes = WipedBytes(capacity: 72)
    bytes.append(identity.tag.service.bytes.span)
    bytes.append(identity.tag.key.bytes.span)
    bytes.append(littleEndian: identity.sequence)
    bytes.append(metadata.extracting(last: SymmetricKey.tagSize))
    bytes.append(secret.extracting(last: SymmetricKey.tagSize))
    return bytes.withBytes { RowSum(of: $0, under: sumKey) }
  }
}

/// Seals and opens one part of rows: the metadata or the secret.
///
/// It binds this part to the identity of its row.
struct RowSeal: Sendable {
  private let key: SymmetricKey
  /// The associated data without the identity of a row.
  private let template: InlineArray<68, UInt8>

  init(_ part: StoreFormat.Part, key: SymmetricKey, storeID: [UInt8]) {
    self.key = key
    let prefix = StoreFormat.associatedData(of: part, storeID: storeID)
    template = InlineArray { $0 < prefix.count ? prefix[$0] : 0 }
  }

  /// Pads and seals the bytes.
  func seal(_ bytes: consuming WipedBytes, as identity: RowIdentity, nonce: [UInt8]) -> [UInt8] {
    bytes.pad()
    let associatedData = associatedData(as: identity)
    return bytes.withBytes { key.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// Opens the bytes and removes the padding; throws `corrupt` if the bytes are not authentic.
  func open(_ sealed: Span<UInt8>, as identity: RowIdentity) throws(StorageError) -> WipedBytes {
    let associatedData = associatedData(as: identity)
    guard var bytes = key.open(sealed, for: associatedData.span) else { throw .unauthenticRow }
    try bytes.unpad()
    return bytes
  }

  /// Throws `corrupt` if the bytes are not authentic.
  ///
  /// Does not decrypt them.
  func authenticate(_ sealed: Span<UInt8>, as identity: RowIdentity) throws(StorageError) {
    let associatedData = associatedData(as: identity)
    guard key.isAuthentic(sealed, for: associatedData.span) else { throw .unauthenticRow }
  }

  private func associatedData(as identity: RowIdentity) -> InlineArray<68, UInt8> {
    var bytes = template
    var span = bytes.mutableSpan
    var raw = unsafe span.mutableBytes
    raw.storeBytes(
      of: identity.tag.service.bytes, toByteOffset: 28, as: InlineArray<16, UInt8>.self)
    raw.storeBytes(of: identity.tag.key.bytes, toByteOffset: 44, as: InlineArray<16, UInt8>.self)
    raw.storeBytes(of: identity.sequence.littleEndian, toByteOffset: 60, as: UInt64.self)
    return bytes
  }
}

/// The nonces of one transaction, taken from the system in one call.
///
/// A nonce that is left over is not used in the next transaction. Otherwise, a virtual machine that
/// is restored twice from one snapshot would use this nonce twice.
package struct Nonces {
  private let bytes: [UInt8]
  private var used = 0

  /// Takes nonces from bytes, which are random or derived.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the next nonce.
  package mutating func next() -> [UInt8] {
    defer { used += SymmetricKey.nonceSize }
    return Array(bytes[used..<used + SymmetricKey.nonceSize])
  }
}
