internal import KistCore

/// The records of an engine at each position that was not discarded.
struct MemoryHistory {
  /// The value of a record from a position on; `nil` if it was deleted there.
  private struct Version {
    let position: ClusterPosition
    let bytes: [UInt8]?
  }

  private struct RowPlace: Hashable {
    let generation: UInt32
    let firstByte: UInt8
  }

  /// The versions of each record, in the order of their positions.
  private var versions: [RecordName: [Version]] = [:]
  /// The key tags of all rows that were ever written, by their generation and their first byte.
  private var rowKeys: [RowPlace: Set<RecordID>] = [:]
  /// The commits that were not discarded, in the order of their positions.
  private var commits: [CommittedWrites] = []
  /// The position up to which the history was discarded.
  private var compacted = ClusterPosition(0)
  /// The position of the last commit.
  private(set) var last = ClusterPosition(0)
  /// The tasks that wait for the next commit, by the number of their wait.
  var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
  /// The number of waits so far.
  private var waits: UInt64 = 0

  /// The maximum size of the rows of a page in bytes, unless it has one row.
  private static let pageSize = 1 << 20

  /// Returns the value of a record at a position; by default, at the last one.
  func value(of name: RecordName, at position: ClusterPosition? = nil) -> [UInt8]? {
    versions[name]?.last { $0.position <= position ?? last }?.bytes
  }

  /// Returns records; throws `tooLarge` above the size that every cluster can answer.
  func records(_ names: [RecordName]) throws(StorageError) -> [[UInt8]?] {
    let records = names.map { value(of: $0) }
    let size = records.reduce(0) { $0 + ($1?.count ?? 0) }
    guard size <= Commit.mostBytes else {
      throw .tooLarge("the answer with all records", limit: Commit.mostBytes, size: size)
    }
    return records
  }

  func list(_ request: ListRequest) -> ListReply {
    let position = request.position ?? last
    guard position >= compacted else { return .compacted }
    let place = RowPlace(generation: request.generation, firstByte: request.firstByte)
    let keys = rowKeys[place, default: []].filter { key in request.after.map { key > $0 } ?? true }
    var page = ListPage(rows: [], isLast: true, position: position)
    var size = 0
    for key in keys.sorted() {
      let name = RecordName.row(generation: request.generation, key: key)
      guard let bytes = value(of: name, at: position) else { continue }
      size += bytes.count
      if size > Self.pageSize, !page.rows.isEmpty {
        page.isLast = false
        break
      }
      page.rows.append(ListPage.Row(key: key, bytes: bytes))
    }
    return .page(page)
  }

  mutating func make(_ commit: Commit) -> CommitReply {
    if let expected = commit.expected {
      let head = value(of: .head(generation: expected.generation))
      guard head == expected.bytes else { return .headDiffers }
    }
    last = ClusterPosition(last.number + 1)
    let deletes = commit.deletes.filter { value(of: $0) != nil }
    commits.append(CommittedWrites(position: last, puts: commit.puts, deletes: deletes))
    for (name, bytes) in commit.puts {
      versions[name, default: []].append(Version(position: last, bytes: bytes))
      if case .row(let generation, let key) = name {
        let place = RowPlace(generation: generation, firstByte: key.firstByte)
        rowKeys[place, default: []].insert(key)
      }
    }
    for name in deletes { versions[name]?.append(Version(position: last, bytes: nil)) }
    return .committed(last)
  }

  /// Returns the next event after a position, and the position up to which nothing else is to be
  /// reported.
  func event(
    after position: ClusterPosition, for request: ChangesRequest
  ) -> (ClusterEvent?, ClusterPosition) {
    guard position >= compacted else { return (.compacted, position) }
    for commit in commits where commit.position > position {
      var commit = commit
      commit.puts = commit.puts.filter { request.matches($0.key) }
      commit.deletes = commit.deletes.filter { request.matches($0) }
      if !commit.puts.isEmpty || !commit.deletes.isEmpty {
        return (.commit(commit), commit.position)
      }
    }
    return (nil, max(position, last))
  }

  mutating func compact(upTo position: ClusterPosition) {
    compacted = max(compacted, min(position, last))
    commits.removeAll { $0.position <= compacted }
    for (name, all) in versions {
      // The last version up to the position is the value at the position.
      let start = all.lastIndex { $0.position <= compacted } ?? 0
      versions[name] = all[start...].contains { $0.bytes != nil } ? Array(all[start...]) : nil
    }
  }

  mutating func rollBack(to position: ClusterPosition) {
    precondition(position >= compacted, "the history at that position was discarded")
    last = min(position, last)
    commits.removeAll { $0.position > position }
    for (name, all) in versions { versions[name] = all.filter { $0.position <= position } }
  }

  /// Returns a number for a wait.
  mutating func numberWait() -> UInt64 {
    waits += 1
    return waits
  }

  /// Removes and returns the tasks that wait for a commit, in the order in which they began.
  ///
  /// The order makes a simulation repeatable.
  mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
    defer { waiting = [:] }
    return waiting.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Returns a copy for which no task waits.
  func withoutWaiting() -> MemoryHistory {
    var copy = self
    copy.waiting = [:]
    return copy
  }
}
