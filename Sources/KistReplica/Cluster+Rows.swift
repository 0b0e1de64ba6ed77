internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault

/// The number of pages of rows that are read at the same time.
private let pagesAtOnce = 4

/// The rows of a generation at a position, while they are listed.
///
/// Its functions are synchronous for a reason: with the same code in the task group itself, a release
/// build of Swift 6.3.1 refused correct pages, and a debug build did not. The end-to-end test of a
/// machine that joins a vault of many credentials finds that on the released programs.
private struct Listing {
  private let generation: UInt32
  private let position: ClusterPosition
  private var verified: RowList
  private(set) var rows: [RowTag: SealedRow] = [:]
  /// The next first byte of key tags; 256 at the end.
  private var nextByte = 0

  init(of keys: GenerationKeys, _ head: VerifiedHead, at position: ClusterPosition) {
    (generation, self.position) = (keys.generation, position)
    verified = RowList(of: keys, head: head)
  }

  /// Returns the request for the first page of the next first byte; `nil` if there is none.
  mutating func firstPage() -> ListRequest? {
    guard let byte = UInt8(exactly: nextByte) else { return nil }
    nextByte += 1
    return ListRequest(generation: generation, firstByte: byte, position: position)
  }

  /// Verifies and adds a page; returns the next request; `nil` if there is none.
  mutating func add(
    _ reply: ListReply, to request: ListRequest
  ) throws(StorageError) -> ListRequest? {
    guard case .page(let page) = reply else { throw .keepsChanging }
    var after = request.after
    for row in page.rows {
      // So that a cluster cannot repeat pages for ever.
      if let after, row.key <= after { throw .wrongAnswer }
      after = row.key
      let sealed = try verified.add(row.bytes, key: row.key)
      rows[sealed.identity.tag] = sealed
    }
    if page.isLast { return firstPage() }
    guard !page.rows.isEmpty else { throw .wrongAnswer }
    var next = request
    next.after = after
    return next
  }

  /// Throws `corrupt` unless all rows were added.
  func conclude() throws(StorageError) { try verified.conclude() }
}

/// A page, and the request for it.
private struct ReadPage: Sendable {
  let request: ListRequest
  let reply: Result<ListReply, StorageError>
}

extension Cluster {
  /// Lists and verifies all rows of a generation at a position.
  ///
  /// While this machine verifies a page, the cluster reads the next ones.
  func rows(
    of keys: GenerationKeys, _ head: VerifiedHead, at position: ClusterPosition
  ) async throws(StorageError) -> [RowTag: SealedRow] {
    var listing = Listing(of: keys, head, at: position)
    let problem = await withTaskGroup(of: ReadPage.self) { group async -> StorageError? in
      func begin(_ request: ListRequest?) {
        guard let request else { return }
        group.addTask { await readPage(request) }
      }
      for _ in 0..<pagesAtOnce { begin(listing.firstPage()) }
      while let page = await group.next() {
        do throws(StorageError) {
          begin(try listing.add(try page.reply.get(), to: page.request))
        } catch {
          group.cancelAll()
          return error
        }
      }
      return nil
    }
    if let problem { throw problem }
    try listing.conclude()
    return listing.rows
  }

  /// Calls the body with the rows of each page, as the cluster answers them, from a first page on.
  func eachPage(
    from first: ListRequest, _ body: ([ListPage.Row]) async throws(StorageError) -> Void
  ) async throws(StorageError) {
    var request = first
    while case .page(let page) = try await list(request), let last = page.rows.last?.key {
      // So that a cluster cannot repeat pages for ever.
      if let after = request.after, last <= after { throw .wrongAnswer }
      try await body(page.rows)
      request.after = last
      if page.isLast { return }
    }
  }

  private func readPage(_ request: ListRequest) async -> ReadPage {
    do throws(StorageError) {
      return ReadPage(request: request, reply: .success(try await list(request)))
    } catch { return ReadPage(request: request, reply: .failure(error)) }
  }

  /// Reads the rows that the last change of each credential saved; throws `corrupt` if one is missing or
  /// is another one.
  func rows(
    savedBy heads: [VerifiedHead], _ generation: UInt32
  ) async throws(StorageError) -> [RecordID: [UInt8]] {
    let found = try await currentRows(savedBy: heads, generation)
    guard found.others.isEmpty else { throw .wrongRow }
    return found.rows
  }

  /// Reads the rows that the last change of each credential saved, and returns the key tags of those that
  /// are missing or are others, for example because they were saved after these heads.
  func currentRows(
    savedBy heads: [VerifiedHead], _ generation: UInt32
  ) async throws(StorageError) -> (rows: [RecordID: [UInt8]], others: Set<RecordID>) {
    var saved: [RecordID: Digest] = [:]
    for head in heads.map(\.head) {
      switch head.change {
      case .save(let key, let digest): saved[key] = digest
      case .delete(let key): saved[key] = nil
      case .begin, .nothing, .roster, .generation, .pause, .announcement: break
      }
    }
    let keys = saved.keys.sorted()
    var (rows, others) = ([RecordID: [UInt8]](), Set<RecordID>())
    // Most rows are small, so a cluster can answer many of them together.
    var (first, most) = (0, 16)
    while first < keys.count {
      let keys = keys[first..<min(first + most, keys.count)]
      do throws(StorageError) {
        let records = try await read(keys.map { .row(generation: generation, key: $0) })
        for (key, record) in zip(keys, records) {
          // Checked at once, so that a cluster cannot fill the memory with other bytes.
          if let record, Digest(of: record) == saved[key] {
            rows[key] = record
          } else {
            others.insert(key)
          }
        }
        first += keys.count
      } catch {
        guard error == .largeRecord else { throw error }
        // A single row that is too large is not the one that was saved.
        if keys.count == 1 {
          others.formUnion(keys)
          first += 1
        }
        most = max(1, keys.count / 2)
      }
    }
    return (rows, others)
  }
}
