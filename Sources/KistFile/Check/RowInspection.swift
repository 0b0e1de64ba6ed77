internal import KistCore
internal import KistVault

/// Collects the results of the inspection of rows.
struct RowInspection {
  private let keys: StoreKeys?
  /// The number of the last change, where it is known.
  private let lastSequence: UInt64
  private var seen: Set<Mark> = []
  private var tally: RowTally
  private var found = 0
  private var good = 0
  private var extended = 0
  private var unnamed = 0
  private var unnamable = 0
  private var isOutOfOrder = false
  private var named: [(CredentialKey, String)] = []
  /// Whether all rows could be read, so that none is on a damaged page.
  var couldReachAll = false

  /// Identifies a row, however it was reached.
  private struct Mark: Hashable {
    let address: Int64
    let place: RowPlace
  }

  init(keys: StoreKeys?, _ header: Header?) {
    self.keys = keys
    tally = RowTally(keys)
    lastSequence = header?.sequence ?? Header.lastSequence
  }

  /// Inspects a row, which may come twice, because it can be reached in two ways.
  mutating func inspect(
    _ row: ReachedRow, _ keep: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let place = row.place else {
      found += 1
      unnamed += 1
      return
    }
    guard seen.insert(Mark(address: row.address, place: place)).inserted else { return }
    found += 1
    let sealedSecret = row.secret ?? []
    let isFound = tally.add(
      row.metadata.span, sealedSecret.span, at: place, address: row.address,
      isInOrder: row.isInOrder)
    if !row.isPlaced || !isFound { isOutOfOrder = true }
    guard let keys else { return }
    guard let metadata = try? keys.openMetadata(row.metadata.span, at: place) else {
      return noteUnreadable(row, place, keys)
    }
    guard row.secret != nil else {
      return named.append((metadata.key, "its secret lies on a damaged page"))
    }
    let opened: OpenedRow
    do throws(StorageError) {
      opened = try keys.openSecret(sealedSecret.span, of: metadata, at: place)
    } catch {
      let fault =
        error == .beyondLimits ? "is longer than any that kist saves" : "fails authentication"
      return named.append((metadata.key, "its secret \(fault)"))
    }
    if !(1...lastSequence).contains(place.sequence) {
      named.append((metadata.key, "it has the number of no change"))
    }
    good += 1
    if metadata.fields != nil || opened.secretFields != nil { extended += 1 }
    try keep(opened)
  }

  /// Records a row whose metadata is not authentic, or not as kist saves it.
  private mutating func noteUnreadable(_ row: ReachedRow, _ place: RowPlace, _ keys: StoreKeys) {
    if let key = try? keys.openKey(row.metadata.span, at: place) {
      guard key.isWithinLimits else { return unnamable += 1 }
      named.append((key, "its label, attributes or times are not such as kist saves"))
    } else {
      unnamed += 1
    }
  }

  /// Records the faults that only all rows together show.
  func conclude(_ examination: inout EncryptedFile.Examination, _ header: Header?) {
    (examination.found, examination.good, examination.extended) = (found, good, extended)
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
    if isOutOfOrder { examination.note(.credentials, "credentials are where no lookup finds them") }
    guard let header, !tally.matches(header) || UInt64(found) != header.count else { return }
    examination.note(
      .credentials,
      UInt64(found) == header.count
        ? "credentials were put back from an earlier time, or changed"
        : "there should be \(header.count) credentials, and there are \(found)"
          + (couldReachAll ? "" : " that can be reached"))
  }
}
