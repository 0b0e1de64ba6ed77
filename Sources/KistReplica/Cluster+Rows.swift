internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault

/// The number of pages of rows that are read at the same time.
private let pagesAtOnce = 4

extension Cluster {
  /// Lists and verifies all rows of a generation at a position.
  ///
  /// While this machine verifies a page, the cluster reads the next ones.
  func rows(
    of keys: GenerationKeys, _ head: VerifiedHead, at position: ClusterPosition
  ) async throws(StorageError) -> [RowTag: SealedRow] {
    var verified = RowList(of: keys, head: head)
    var rows: [RowTag: SealedRow] = [:]
    var firstBytes = (UInt8.min ... .max).makeIterator()
    func firstPage() -> ListRequest? {
      firstBytes.next().map {
        ListRequest(generation: keys.generation, firstByte: $0, position: position)
      }
    }
    typealias Read = (ListRequest, Result<ListReply, StorageError>)
    let problem = await withTaskGroup(of: Read.self) { group async -> StorageError? in
      func begin(_ request: ListRequest?) {
        guard let request else { return }
        group.addTask { () -> Read in
          do throws(StorageError) { return (request, .success(try await list(request))) } catch {
            return (request, .failure(error))
          }
        }
      }
      for _ in 0..<pagesAtOnce { begin(firstPage()) }
      do throws(StorageError) {
        while let (read, reply) = await group.next() {
          guard case .page(let page) = try reply.get() else { throw .keepsChanging }
          var request = read
          for row in page.rows {
            // So that a cluster cannot repeat pages for ever.
            guard request.after.map({ row.key > $0 }) ?? true else { throw .wrongAnswer }
            request.after = row.key
            let sealed = try verified.add(row.bytes, key: row.key)
            rows[sealed.identity.tag] = sealed
          }
          guard page.isLast || !page.rows.isEmpty else { throw .wrongAnswer }
          begin(page.isLast ? firstPage() : request)
        }
        return nil
      } catch {
        group.cancelAll()
        return error
      }
    }
    if let problem { throw problem }
    try verified.conclude()
    return rows
  }

  /// Reads the rows that the last change of each credential saved.
  func rows(
    savedBy heads: [VerifiedHead], _ generation: UInt32
  ) async throws(StorageError) -> [RecordID: [UInt8]] {
    var saved: [RecordID: Digest] = [:]
    for head in heads.map(\.head) {
      switch head.change {
      case .save(let key, let digest): saved[key] = digest
      case .delete(let key): saved[key] = nil
      case .begin, .nothing, .roster, .generation, .pause: break
      }
    }
    let keys = saved.keys.sorted()
    var rows: [RecordID: [UInt8]] = [:]
    // Most rows are small, so a cluster can answer many of them together.
    var (first, most) = (0, 16)
    while first < keys.count {
      let keys = keys[first..<min(first + most, keys.count)]
      do throws(StorageError) {
        let records = try await self.records(
          keys.map { .row(generation: generation, key: $0) })
        guard records.count == keys.count else { throw .wrongAnswer }
        for (key, record) in zip(keys, records) {
          // Checked at once, so that a cluster cannot fill the memory with other bytes.
          guard let record, Digest(of: record) == saved[key] else { throw .wrongRow }
          rows[key] = record
        }
        first += keys.count
      } catch {
        guard error.code == .tooLarge, keys.count > 1 else { throw error }
        most = keys.count / 2
      }
    }
    return rows
  }
}
