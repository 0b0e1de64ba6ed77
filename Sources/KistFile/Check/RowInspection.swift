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
  private var last = Int64.min
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
    guard seen.insert(row.mark(with: tag)).inserted else { return }
    found += 1
    if row.isInOrder {
      if row.address <= last { isOutOfOrder = true }
      last = row.address
    }
    if !row.isPlaced || !RowAddresses(of: tag).range.contains(row.address) { isOutOfOrder = true }
    guard let keys else { return }
    let sealedSecret = row.secret ?? []
    sum += keys.hash(
      tag: tag, sequence: row.sequence, metadata: row.metadata.span, secret: sealedSecret.span)
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
      examination.note(.credentials, "credentials are where no lookup finds them")
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

extension FoundRow {
  /// What tells it from every other row, however it was reached.
  fileprivate func mark(with tag: RowTag) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(48)
    bytes.append(littleEndian: UInt64(bitPattern: address))
    bytes.append(tag.service.bytes.span)
    bytes.append(tag.key.bytes.span)
    bytes.append(littleEndian: sequence)
    return bytes
  }
}
