internal import KistCore

/// An authentic row, decrypted.
struct OpenedRow {
  let metadata: Metadata
  let secret: Secret
  /// The extra fields stored with the secret.
  let secretFields: Fields?
  /// The number of the change that wrote the row.
  let sequence: UInt64
}

/// Collects the results of the inspection of rows.
struct RowInspection {
  private let keys: StoreKeys?
  /// The number of the last change, where it is known.
  private let lastSequence: UInt64
  private var seen: Set<[UInt8]> = []
  private var sum = RowSum.zero
  private var last = Int64.min
  private var found = 0
  private var good = 0
  private var extended = 0
  private var unnamed = 0
  private var unnamable = 0
  private var isOutOfOrder = false
  private var named: [(CredentialKey, String)] = []
  /// Whether some rows could not be read because of a damaged page.
  var couldNotReachAll = false

  init(keys: StoreKeys?, _ header: Header?) {
    self.keys = keys
    lastSequence = header?.sequence ?? Header.lastSequence
  }

  /// Inspects a row.
  ///
  /// A row may come twice, because it can be reached in two ways.
  mutating func inspect(
    _ row: ReachedRow, _ keep: (OpenedRow) throws(StorageError) -> Void
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
    else { return noteUnreadable(row, tag, keys) }
    guard let secret = row.secret else {
      named.append((metadata.key, "its secret lies on a damaged page"))
      return
    }
    let opened: (secret: Secret, fields: Fields?)
    do throws(StorageError) {
      opened = try keys.openSecret(
        secret.span, hasFields: metadata.secretHasFields, at: tag, sequence: row.sequence)
    } catch {
      let fault =
        error == .beyondLimits ? "is longer than any that kist saves" : "fails authentication"
      named.append((metadata.key, "its secret \(fault)"))
      return
    }
    if !(1...lastSequence).contains(row.sequence) {
      named.append((metadata.key, "it has the number of no change"))
    }
    good += 1
    if metadata.fields != nil || opened.fields != nil { extended += 1 }
    try keep(
      OpenedRow(
        metadata: metadata, secret: opened.secret, secretFields: opened.fields,
        sequence: row.sequence))
  }

  /// Records a row whose metadata is not authentic, or not as kist saves it.
  private mutating func noteUnreadable(_ row: ReachedRow, _ tag: RowTag, _ keys: StoreKeys) {
    guard let key = try? keys.openKey(row.metadata.span, at: tag, sequence: row.sequence) else {
      unnamed += 1
      return
    }
    if key.isWithinLimits {
      named.append((key, "its label, attributes or times are not such as kist saves"))
    } else {
      unnamable += 1
    }
  }

  /// Records the faults that only all rows together show.
  func conclude(_ examination: inout EncryptedFile.Examination, _ header: Header?) {
    examination.found = found
    examination.good = good
    examination.extended = extended
    for (key, message) in named { examination.note(.credential, message, key) }
    if unnamed > 0 {
      examination.note(
        .credential,
        "\(unnamed) credential\(unnamed == 1 ? " fails" : "s fail") authentication, the name too")
    }
    if unnamable > 0 {
      examination.note(
        .credential,
        "\(unnamable) credential\(unnamable == 1 ? " has a name" : "s have names") that kist does "
          + "not save")
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

extension ReachedRow {
  /// Returns bytes that identify the row, however it was reached.
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
