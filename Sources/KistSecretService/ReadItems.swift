internal import KistCore

/// The items and the collections of all credentials, from a read in pages.
///
/// A page is freed before the next one is read, because the credentials need much more memory than
/// their index.
struct ReadItems {
  private(set) var index: ItemIndex
  private(set) var collections: [Collection] = []
  /// The earliest and the latest time of the items of each collection.
  private(set) var times: [String: ClosedRange<Timestamp>] = [:]
  private var changes: [(modifiedAt: Timestamp, sequence: UInt64, identifier: UInt64)] = []

  init(into index: ItemIndex) { self.index = index }

  mutating func add(_ summary: CredentialSummary) {
    if let collection = Collection(recordedBy: summary) { return collections.append(collection) }
    guard !summary.recordsCollection else { return }
    changes.append(
      (summary.modifiedAt, summary.revision.sequence ?? 0, index.insert(summary)))
    let (created, modified) = (summary.createdAt, summary.modifiedAt)
    let known = times[summary.collection] ?? modified...modified
    times[summary.collection] =
      min(known.lowerBound, created, modified)...max(known.upperBound, created, modified)
  }

  /// Puts the items in the order of their times, the newest last.
  mutating func sort() {
    changes.sort { ($0.modifiedAt, $0.sequence) < ($1.modifiedAt, $1.sequence) }
    index.sort(by: changes.map(\.identifier))
    changes = []
  }
}
