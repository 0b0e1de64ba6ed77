internal import KistCore

/// A row that is authentic, opened.
struct OpenedRow {
  let metadata: Metadata
  let secret: Secret
  /// The number of the change that wrote it.
  let sequence: UInt64
}

/// What is seen of the rows while they pass.
struct RowInspection {
  private let keys: StoreKeys?
  private var seen: Set<[UInt8]> = []
  private var sum = RowSum.zero
  private var last: RowTag?
  private var found = 0
  private var good = 0
  private var unnamed = 0
  private var isOutOfOrder = false
  private var named: [(CredentialKey, String)] = []
  /// Whether there were rows that a damaged page kept back.
  var couldNotReachAll = false

  init(keys: StoreKeys?) { self.keys = keys }

  /// Looks at a row, which may come twice where it is reached in two ways.
  mutating func inspect(
    _ row: FoundRow, _ keep: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let tag = row.tag else {
      found += 1
      unnamed += 1
      return
    }
    guard seen.insert(tag.bytes(with: row.sequence)).inserted else { return }
    found += 1
    if row.isInOrder {
      if let last, tag <= last { isOutOfOrder = true }
      last = tag
    }
    if !row.isPlaced { isOutOfOrder = true }
    guard let keys else { return }
    sum += keys.hash(
      tag: tag, sequence: row.sequence, metadataTag: row.metadata.suffix(16),
      secretTag: row.secret?.suffix(16) ?? [])
    guard
      let metadata = try? keys.openMetadata(row.metadata.span, at: tag, sequence: row.sequence)
    else {
      unnamed += 1
      return
    }
    guard let secret = row.secret else {
      named.append((metadata.key, "its secret lies on a damaged page"))
      return
    }
    guard let secret = try? keys.openSecret(secret.span, at: tag, sequence: row.sequence) else {
      named.append((metadata.key, "its secret fails authentication"))
      return
    }
    good += 1
    try keep(OpenedRow(metadata: metadata, secret: secret, sequence: row.sequence))
  }

  /// Says what all of them together tell.
  func conclude(_ examination: inout EncryptedFile.Examination, _ header: Header?) {
    examination.found = found
    examination.good = good
    for (key, message) in named { examination.note(.credential, message, key) }
    if unnamed > 0 {
      examination.note(
        .credential,
        "\(unnamed) credential\(unnamed == 1 ? " fails" : "s fail") authentication, the name too")
    }
    if isOutOfOrder {
      examination.note(.credentials, "credentials are out of order, where no lookup finds them")
    }
    guard let header, sum != header.sum || UInt64(found) != header.count else { return }
    examination.note(
      .credentials,
      UInt64(found) == header.count
        ? "credentials were put back from an earlier time, or changed"
        : "there should be \(header.count) credentials, and there are \(found)"
          + (couldNotReachAll ? " that can be reached" : ""))
  }
}

extension RowTag {
  /// The bytes of both tags and of a sequence.
  fileprivate func bytes(with sequence: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(40)
    bytes.append(service.bytes.span)
    bytes.append(key.bytes.span)
    bytes.append(littleEndian: sequence)
    return bytes
  }
}
