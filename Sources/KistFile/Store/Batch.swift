internal import KistCore

/// Several changes that are written in one transaction.
struct Batch {
  let connections: Connections
  let session: Session
  let options: EncryptedFile.Options

  /// Carries out the changes in order, and returns the answer of each.
  ///
  /// Throws where none is known to be on disk.
  func carryOut(_ changes: [Writer.Queued]) throws(StorageError) -> [Writer.Answered] {
    var answers: [Writer.Answered] = []
    var before: Header?
    var after: Header?
    var mustErase = false
    do throws(StorageError) {
      // The connections are closed only if reopening them failed after an earlier error.
      try connections.open()
      try connections.change { database throws(StorageError) in
        try database.transaction("BEGIN IMMEDIATE") { () throws(StorageError) in
          let header = try session.header(in: database)
          guard header.sequence <= Header.lastSequence - UInt64(changes.count) else {
            throw .noSequenceLeft
          }
          before = header
          // At most two for each change, and one for the header.
          let nonces = Nonces(options.nonces(2 * changes.count + 1))
          var transaction = Transaction(
            database, session.keys, header, nonces, now: options.now)
          for change in changes { answers.append(try change.carryOut(&transaction)) }
          if transaction.header == header { return false }
          try session.write(
            transaction.header, nonce: transaction.nonces.next(), into: database)
          (after, mustErase) = (transaction.header, transaction.removesKeySlot)
          return true
        }
      }
      if after != nil { try connections.flushLogName() }
      if mustErase {
        let isErased = try connections.change { database throws(StorageError) in
          try database.emptyLog()
        }
        if !isErased { throw .slotsNotErased }
      }
    } catch {
      let fate = fate(of: before, after, erasing: mustErase)
      guard fate == .carriedOut else {
        throw error.withOutcome(fate == .unchanged ? .unchanged : .unknown)
      }
    }
    if let after { session.progress?.note(after.sequence) }
    return answers
  }

  private enum Fate { case carriedOut, unchanged, unknown }

  /// Reopens the store after a failure and determines what it contains.
  ///
  /// When a flush failed, only reading the log again decides whether SQLite's writes count. SQLite
  /// reads it again only after all connections were closed.
  private func fate(of before: Header?, _ after: Header?, erasing mustErase: Bool) -> Fate {
    session.check.pause()
    do throws(StorageError) {
      defer { session.check.start() }
      try connections.reopen()
      guard let after else { return .unchanged }
      return try connections.change { database throws(StorageError) in
        let header = try database.header(session.keys)
        if header == before { return .unchanged }
        guard header == after else { return .unknown }
        // The writes count, but must also be on disk.
        return try (mustErase ? database.emptyLog() : database.checkpoint())
          ? .carriedOut : .unknown
      }
    } catch {
      return after == nil ? .unchanged : .unknown
    }
  }
}

extension StorageError {
  /// The sequence numbers are used up; kist never writes that many changes.
  fileprivate static let noSequenceLeft = StorageError(
    .full, "the store has no number left for another change",
    hint: "stop kistd and run `kistd rekey`, which numbers the credentials again")

  /// The slot was removed, but its bytes were not overwritten.
  fileprivate static let slotsNotErased = StorageError(
    .busy, "the store is read by somebody, so that the removed key slot could not be written over",
    hint: "stop kistd and start it again, which does so; `kist slots` shows the slots")
}
