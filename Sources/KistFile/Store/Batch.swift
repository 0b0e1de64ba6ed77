internal import KistCore

/// Several changes that are written in one transaction.
struct Batch {
  let connections: Connections
  let session: Session
  let options: EncryptedFile.Options

  /// Carries out the changes in order, and gives each a correct answer even after a failure.
  func carryOut(_ changes: [Change]) -> [Change.Answer] {
    var answers: [Change.Answer] = []
    var before: Header?
    var after: Header?
    // Until it is overwritten, the removed slot is still in the file or the log. A copy of only one
    // of them would contain it.
    let mustErase = changes.contains(where: \.removesKeySlot)
    do throws(StorageError) {
      // The connections are closed only if reopening them failed after an earlier error.
      try connections.open()
      try connections.change { database throws(StorageError) in
        try database.transaction("BEGIN IMMEDIATE") { () throws(StorageError) in
          var header = try session.header(in: database)
          guard header.sequence <= Header.lastSequence - UInt64(changes.count) else {
            throw .noSequenceLeft
          }
          // At most two for each change, and one for the header.
          var nonces = Nonces(options.nonces(2 * changes.count + 1))
          before = header
          for change in changes {
            answers.append(try carryOut(change, in: database, &header, &nonces))
          }
          if header == before { return false }
          try session.write(header, nonce: nonces.next(), into: database)
          after = header
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
      if let after { session.progress?.note(after.sequence) }
      return answers
    } catch {
      let fate = fate(of: before, after, erasing: mustErase)
      if fate == .carriedOut {
        if let after { session.progress?.note(after.sequence) }
        return answers
      }
      let failure = error.withOutcome(fate == .unchanged ? .unchanged : .unknown)
      return changes.map { _ in .failure(failure) }
    }
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

  /// The facts needed about a row that is replaced or deleted.
  private struct Replaced {
    let kept: SealedRow.Kept
    let hash: RowSum
  }

  /// Carries out one change.
  ///
  /// Returns an error that concerns only this change, and throws one that ends the transaction.
  private func carryOut(
    _ change: Change, in database: Database, _ header: inout Header, _ nonces: inout Nonces
  ) throws(StorageError) -> Change.Answer {
    switch change {
    case .save(let request):
      try put(
        request.credential, at: request.credential.key, if: request.condition, in: database,
        &header, &nonces)
    case .delete(let request):
      try put(
        nil, at: request.key, if: request.ifRevision.map { .ifRevision($0) } ?? .always,
        in: database, &header, &nonces)
    case .keySlots(let change):
      try carryOut(change, in: database, &header)
    }
  }

  private func carryOut(
    _ change: KeySlotChange, in database: Database, _ header: inout Header
  ) throws(StorageError) -> Change.Answer {
    let storeID = session.keys.storeID
    var slots = try database.slots(storeID: storeID)
    guard header.slots == KeySlot.hash(of: slots, storeID: storeID) else {
      throw .corrupt("the store's key slots were changed")
    }
    guard slots == change.slots else {
      return .failure(
        StorageError(
          .busy, "another request has changed the key slots meanwhile",
          hint: "look at them with `kist slots`, and try again", outcome: .unchanged))
    }
    if let number = change.removed {
      slots.removeAll { $0.number == number }
      try database.deleteSlot(number)
    }
    if let slot = change.added {
      slots.append(slot)
      try database.insertSlot(slot.number, slot.encoded(storeID: storeID))
    }
    header.slots = KeySlot.hash(of: slots, storeID: storeID)
    header.sequence += 1
    return .success(.keySlots(slots))
  }

  /// Replaces the row of a key with a credential, or removes it.
  private func put(
    _ credential: NewCredential?, at key: CredentialKey, if condition: Condition,
    in database: Database, _ header: inout Header, _ nonces: inout Nonces
  ) throws(StorageError) -> Change.Answer {
    let tag = session.keys.tag(of: key)
    let isEmpty = header.count == 0
    let (found, address) = try database.lookUp(tag) { sequence, metadata, secret in
      Result { () throws(StorageError) in
        try condition.check(against: session.revision(of: sequence))
        // The header is then from an earlier time, but still authentic.
        if isEmpty { throw .wrongRows }
        // A row that is not authentic is never overwritten.
        return Replaced(
          kept: try session.keys.authenticate(metadata, secret, at: tag, sequence: sequence),
          hash: session.keys.hash(tag: tag, sequence: sequence, metadata: metadata, secret: secret))
      }
    }
    let old: Replaced?
    do throws(StorageError) {
      if found == nil { try condition.check(against: nil) }
      old = try found?.get()
    } catch {
      return .failure(error.withOutcome(.unchanged))
    }
    if credential != nil, old?.kept.forbidsChange == true { return .failure(.needsLaterVersion) }
    if let old {
      header.sum -= old.hash
      header.count -= 1
    }
    guard let credential else {
      guard old != nil else { return .success(.deleted(nil)) }
      header.sequence += 1
      try database.delete(at: address)
      return .success(.deleted(header.sequence))
    }
    header.sequence += 1
    header.count += 1
    let moment = options.now()
    let metadata = Metadata(
      credential, createdAt: old?.kept.createdAt ?? moment, modifiedAt: moment,
      fields: old?.kept.fields, secretHasFields: old?.kept.secretFields != nil)
    let row = session.keys.seal(
      metadata, credential.secret, old?.kept.secretFields, at: tag, sequence: header.sequence,
      nonces: { nonces.next() })
    header.sum += session.keys.hash(of: row)
    try database.put(row, at: address)
    return .success(.saved(metadata.summary(at: session.revision(of: header.sequence))))
  }
}

extension Change {
  /// Whether the change removes a key slot.
  fileprivate var removesKeySlot: Bool {
    if case .keySlots(let change) = self { change.removed != nil } else { false }
  }
}

extension StorageError {
  /// A field allows changes only to versions that know it.
  fileprivate static let needsLaterVersion = StorageError(
    .denied,
    "a later version of kist keeps data with the credential that this one cannot keep right",
    hint: "update kistd; or delete the credential, and that data with it, and save it again",
    outcome: .unchanged)

  /// The sequence numbers are used up; kist never writes that many changes.
  fileprivate static let noSequenceLeft = StorageError(
    .full, "the store has no number left for another change",
    hint: "stop kistd and run `kistd rekey`, which numbers the credentials again")

  /// The slot was removed, but its bytes were not overwritten.
  fileprivate static let slotsNotErased = StorageError(
    .busy, "the store is read by somebody, so that the removed key slot could not be written over",
    hint: "stop kistd and start it again, which does so; `kist slots` shows the slots")
}
