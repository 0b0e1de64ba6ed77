package import KistCore

/// A planned change of the store.
///
/// A function that makes a plan uses only its arguments, and writes nothing. `KistFile` then makes
/// the writes of several plans in one transaction. If such a function throws, only its own change
/// fails.
package struct Plan<Answer> {
  /// The writes, in order, apart from the header.
  package var writes: [StoreWrite] = []
  /// The header after the change.
  package var header: Header
  /// The answer to the client, once the writes are on disk.
  package var answer: Answer
  /// The event for watchers, once the writes are on disk; `nil` if no credential is changed.
  package var event: CredentialChange?
}

/// One write of a change.
package enum StoreWrite: Equatable, Sendable {
  /// Writes a row at this address, and replaces any row there.
  case putRow(SealedRow, at: Int64)
  /// Deletes the row at this address.
  case deleteRow(at: Int64)
  /// Adds a key slot.
  case putSlot(KeySlot)
  /// Deletes the key slot with this number.
  case deleteSlot(UInt32)
}

/// The result of a lookup: the row of a credential, or a free address for it.
package struct FoundRow {
  /// The tags of the credential.
  let tag: RowTag
  /// The address of the row; a free address if there is no row.
  package let address: Int64
  /// The row of the credential; `nil` if there is none.
  package let row: SealedRow?

  package init(tag: RowTag, address: Int64, row: SealedRow?) {
    (self.tag, self.address, self.row) = (tag, address, row)
  }
}

/// The key slots to add and remove in one step.
package struct KeySlotChange: Sendable {
  /// The slots that the store had when this change was checked.
  ///
  /// If another request has changed the slots since then, this change fails. Without this check,
  /// two requests together could remove all slots.
  let slots: [KeySlot]
  /// The slot to add.
  let added: KeySlot?
  /// The number of the slot to remove.
  let removed: UInt32?

  package init(slots: [KeySlot], added: KeySlot? = nil, removed: UInt32? = nil) {
    (self.slots, self.added, self.removed) = (slots, added, removed)
  }
}

extension StoreKeys {
  /// Plans the save of a credential.
  package func plan(
    _ request: SaveRequest, on found: FoundRow, _ header: Header, at now: Timestamp,
    _ nonces: inout Nonces
  ) throws(StorageError) -> Plan<CredentialSummary> {
    let key = request.credential.key
    let preserved = try checkAndReadPreserved(found, of: key, condition: request.condition, header)
    if preserved?.needsLaterVersion == true { throw .needsLaterVersion }
    if request.keep.isEmpty {
      // Passes the credential without copying it.
      return plan(toStore: request.credential, preserved, on: found, header, at: now, &nonces)
    }
    let credential = try request.credential(
      keepingPartsOf: summary(of: found, key, header), at: now)
    return plan(toStore: credential, preserved, on: found, header, at: now, &nonces)
  }

  private func plan(
    toStore credential: NewCredential, _ preserved: SealedRow.Preserved?, on found: FoundRow,
    _ header: Header, at now: Timestamp, _ nonces: inout Nonces
  ) -> Plan<CredentialSummary> {
    var header = header
    header.sequence += 1
    let metadata = Metadata(
      credential, createdAt: preserved?.createdAt ?? now, modifiedAt: now,
      fields: preserved?.fields)
    let row = seal(
      metadata, credential.secret, preserved?.secretFields,
      as: RowIdentity(tag: found.tag, sequence: header.sequence), &nonces)
    header.replaceRow(found.row.map(hash(of:)), with: hash(of: row))
    let summary = metadata.summary(at: header.lastRevision)
    return Plan(
      writes: [.putRow(row, at: found.address)], header: header, answer: summary,
      event: .saved(summary.key, summary.revision))
  }

  /// Plans the deletion of a credential.
  ///
  /// The answer is `true` if the credential exists.
  package func plan(
    _ request: DeleteRequest, on found: FoundRow, _ header: Header
  ) throws(StorageError) -> Plan<Bool> {
    _ = try checkAndReadPreserved(found, of: request.key, condition: request.condition, header)
    guard let row = found.row else { return Plan(header: header, answer: false) }
    var header = header
    header.sequence += 1
    header.replaceRow(hash(of: row), with: nil)
    return Plan(
      writes: [.deleteRow(at: found.address)], header: header, answer: true,
      event: .deleted(request.key, header.lastRevision))
  }

  /// Plans a change of the key slots.
  ///
  /// The answer is the list of slots after the change.
  ///
  /// - Parameter slots: the slots in the store. The caller has compared their hash with the header.
  package func plan(
    _ change: KeySlotChange, on slots: [KeySlot], _ header: Header
  ) throws(StorageError) -> Plan<[KeySlot]> {
    guard slots == change.slots else {
      throw StorageError(
        .busy, "another request has changed the key slots meanwhile",
        hint: "list them with `kist slots`, and try again")
    }
    let slots = slots.filter { $0.number != change.removed } + [change.added].compactMap(\.self)
    var header = header
    header.sequence += 1
    header.slots = KeySlot.hash(of: slots, storeID: storeID)
    return Plan(
      writes: [change.removed.map { .deleteSlot($0) }, change.added.map { .putSlot($0) }]
        .compactMap(\.self),
      header: header, answer: slots)
  }

  /// Returns the stored credential without its secret; `nil` if there is none.
  private func summary(
    of found: FoundRow, _ key: CredentialKey, _ header: Header
  ) throws(StorageError) -> CredentialSummary? {
    guard let row = found.row else { return nil }
    return try openMetadata(row.metadata.span, as: row.identity, foundBy: key)
      .summary(at: header.epoch.revision(of: row.identity.sequence))
  }

  /// Checks the condition of a change, and returns what every save preserves: the time of creation
  /// and the fields of later versions.
  ///
  /// Throws if the row is not authentic, or is of another credential, so that such a row is never
  /// overwritten.
  private func checkAndReadPreserved(
    _ found: FoundRow, of key: CredentialKey, condition: Condition, _ header: Header
  ) throws(StorageError) -> SealedRow.Preserved? {
    try condition.check(against: found.row.map { header.epoch.revision(of: $0.identity.sequence) })
    guard let row = found.row else { return nil }
    // The count in the header is zero, but a row exists. So the header and the row do not belong
    // together.
    if header.count == 0 { throw .wrongRows }
    return try openPreserved(row.metadata.span, row.secret.span, as: row.identity, foundBy: key)
  }
}

extension StorageError {
  /// The credential has a critical field that this version does not know.
  fileprivate static let needsLaterVersion = StorageError(
    .denied,
    "a later version of kist added data to the credential, and this version would damage it",
    hint: "update kistd; or delete the credential, and that data with it, and save it again")
}
