internal import Dispatch
internal import KistCore

extension FileStore {
  /// Returns a page in the order of the rows' addresses, which never change.
  func find(_ query: CredentialQuery) async throws(StorageError) -> CredentialPage {
    let begin = ContinuousClock.now
    let session = try session()
    let start = try Cursor(query, session.keys)
    try await session.check.settle(within: options.deadline)
    return try await watch.over(outcome: nil, since: begin) { [connections] answer in
      findQueue.async {
        answer(
          Result { () throws(StorageError) in
            try connections.use(connections.finds) { database throws(StorageError) in
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
  var room = pageBytes
  var examined = 0
  try database.eachMetadata(after: start) { address, tag, sequence, sealed throws(StorageError) in
    let metadata = try session.keys.openMetadata(sealed, at: tag, sequence: sequence)
    let summary = metadata.summary(at: session.revision(of: sequence))
    var isFull = examined == examinedRows
    if query.matches(summary) {
      // Each byte may become six in JSON, plus the names of the fields.
      room -= 300 + 6 * sealed.count
      // A page has at least one credential: an empty page would lead to itself.
      isFull =
        isFull || page.credentials.count == query.limit || room < 0 && !page.credentials.isEmpty
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
