internal import Dispatch
internal import KistCore
internal import KistVault

extension FileStore {
  /// Returns a credential immediately, on the caller's thread.
  ///
  /// A missing credential is reported only once the store is known to be undamaged. Rows of other
  /// credentials are read only then, too: forged ones, up to 64 of 640 KiB, would delay the caller's
  /// thread.
  @inline(__always)
  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    do throws(StorageError) { return try await loadUnchecked(request) } catch {
      // Another program may have changed the file.
      if error.code == .notFound || error.code == .corrupt { try connections.checkOwnWrites() }
      throw error
    }
  }

  private func loadUnchecked(_ request: LoadRequest) async throws(StorageError) -> Credential {
    let session = try session()
    let first = try lookUp(request.key, amongOthers: false, session)
    if let credential = first?.found { return credential }
    try await session.check.settle(within: watch)
    guard first == nil,
      let credential = try lookUp(request.key, amongOthers: true, session)?.found
    else { throw .notFound }
    return credential
  }

  func save(_ request: SaveRequest) async throws(StorageError) -> CredentialSummary {
    try await carryOut { transaction throws(StorageError) in try transaction.save(request) }
  }

  func delete(_ request: DeleteRequest) async throws(StorageError) -> Bool {
    try await carryOut { transaction throws(StorageError) in try transaction.delete(request) }
  }

  private func lookUp(
    _ key: CredentialKey, amongOthers: Bool, _ session: Session
  ) throws(StorageError) -> (found: Credential?, address: Int64)? {
    let tag = session.keys.tag(of: key)
    return try connections.read { database throws(StorageError) in
      try database.lookUp(tag, amongOthers: amongOthers) {
        identity, metadata, secret throws(StorageError) in
        try session.keys.openCredential(
          metadata, secret, as: identity, foundBy: key, in: session.epoch)
      }
    }
  }

  /// Carries out a change on the writer's queue.
  ///
  /// It waits until the store is known to be undamaged. Otherwise a page that only appears free
  /// could be overwritten, or an existing credential reported as absent.
  ///
  /// After the deadline the change continues, with the outcome `unknown`. The deadline is here and
  /// not around the storage, which would need another task for each change.
  func carryOut<Answer: Sendable>(
    _ change: @escaping Change<Answer>
  ) async throws(StorageError) -> Answer {
    do throws(StorageError) {
      let start = ContinuousClock.now
      let session = try session()
      try await session.check.settle(within: watch)
      return try await watch.over(outcome: .unknown, since: start) { answer in
        writer.carryOut(change, in: session, answer)
      }
    } catch {
      throw error.withOutcome(.unchanged)
    }
  }
}

extension FileStore {
  /// Returns a page in the order of the rows' addresses, which never change.
  func find(_ query: CredentialQuery) async throws(StorageError) -> CredentialPage {
    let begin = ContinuousClock.now
    let session = try session()
    let start = try Cursor(query, session.keys)
    try await session.check.settle(within: watch)
    return try await watch.over(outcome: nil, since: begin) { [connections] answer in
      findQueue.async {
        answer(
          Result { () throws(StorageError) in
            try connections.checkOwnWrites()
            return try connections.use(connections.finds) { database throws(StorageError) in
              try page(of: query, after: start, in: database, session)
            }
          })
      }
    }
  }
}

/// The maximum number of rows that one page examines, so that no find delays the others.
private let examinedRows = 20_000

/// The maximum bytes of a page as JSON, so that it fits into a line.
private let pageBytes = 900 << 10

private func page(
  of query: CredentialQuery, after start: Cursor, in database: Database, _ session: Session
) throws(StorageError) -> CredentialPage {
  var page = CredentialPage(credentials: [])
  var last = start.address
  var remainingBytes = pageBytes
  var examined = 0
  try database.eachMetadata(after: start) { address, identity, sealed throws(StorageError) in
    let metadata = try session.keys.openMetadata(sealed, as: identity)
    let summary = metadata.summary(at: session.epoch.revision(of: identity.sequence))
    var isFull = examined == examinedRows
    if query.matches(summary) {
      // Each byte may become six in JSON, plus the names of the fields.
      remainingBytes -= 300 + 6 * sealed.count
      // A row within the limits is smaller than a page, so each page has a credential.
      isFull = isFull || page.credentials.count == query.limit || remainingBytes < 0
      if !isFull { page.credentials.append(summary) }
    }
    guard !isFull else {
      page.next = Cursor.text(of: last)
      return .enough
    }
    examined += 1
    last = address
    return .more
  }
  return page
}

/// The start of a page: after the row at an address, among all rows or those of one service.
struct Cursor: Sendable {
  /// The address of the last row before the page; below all addresses for the first page.
  let address: Int64
  /// The last address of the query.
  let end: Int64
  /// The service of the query; `nil` for all services.
  private let service: Tag?

  /// Reads the cursor of a query; throws `badRequest` when it is not a cursor of this query.
  init(_ query: CredentialQuery, _ keys: StoreKeys) throws(StorageError) {
    service = query.service.map(keys.serviceTag)
    let range = service.map(RowAddresses.ofService) ?? RowAddresses.all
    end = range.upperBound
    guard let text = query.after else {
      address = range.lowerBound - 1
      return
    }
    guard let address = Int64(text, radix: 16), range.contains(address),
      Self.text(of: address) == text
    else { throw .badRequest("`after` is not a cursor of this query") }
    self.address = address
  }

  /// Returns whether a later row belongs to the query.
  func isFollowed(by tag: RowTag) -> Bool { service == nil || tag.service == service }

  /// Returns the cursor for the rows after an address: 16 hexadecimal digits.
  static func text(of address: Int64) -> String {
    let digits = String(address, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
