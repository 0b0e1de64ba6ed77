internal import KistCore
internal import KistVault

/// A change of the store, with an answer of this type.
///
/// It returns an error that concerns only this change, and throws one that ends the transaction.
typealias Change<Answer> =
  @Sendable (inout Transaction) throws(StorageError) -> Result<Plan<Answer>, StorageError>

/// The transaction in which a batch of changes is carried out.
struct Transaction {
  let database: Database
  let keys: StoreKeys
  let now: @Sendable () -> Timestamp
  /// The header after the changes so far.
  var header: Header
  var nonces: Nonces
  /// Whether a key slot was removed.
  ///
  /// Until the bytes of the slot are overwritten, they are still in the database file or in the
  /// log, and in a copy of that file.
  var removesKeySlot = false

  /// Saves a credential.
  mutating func save(
    _ request: SaveRequest
  ) throws(StorageError) -> Result<Plan<CredentialSummary>, StorageError> {
    let found = try database.find(keys.tag(of: request.credential.key))
    return try carryOut { [keys, header, now] nonces throws(StorageError) in
      try keys.plan(request, on: found, header, at: now(), &nonces)
    }
  }

  /// Deletes a credential, and answers whether there was one.
  mutating func delete(
    _ request: DeleteRequest
  ) throws(StorageError) -> Result<Plan<Bool>, StorageError> {
    let found = try database.find(keys.tag(of: request.key))
    return try carryOut { [keys, header] _ throws(StorageError) in
      try keys.plan(request, on: found, header)
    }
  }

  /// Changes the key slots, and answers with the slots afterwards.
  mutating func changeKeySlots(
    _ change: KeySlotChange
  ) throws(StorageError) -> Result<Plan<[KeySlot]>, StorageError> {
    let slots = try database.slots(of: header, storeID: keys.storeID)
    return try carryOut { [keys, header] _ throws(StorageError) in
      try keys.plan(change, on: slots, header)
    }
  }

  mutating func carryOut<Answer>(
    _ makePlan: (inout Nonces) throws(StorageError) -> Plan<Answer>
  ) throws(StorageError) -> Result<Plan<Answer>, StorageError> {
    let plan: Plan<Answer>
    do throws(StorageError) { plan = try makePlan(&nonces) } catch {
      return .failure(error.withOutcome(.unchanged))
    }
    for write in plan.writes {
      switch write {
      case .putRow(let row, let address): try database.put(row, at: address)
      case .deleteRow(let address): try database.delete(at: address)
      case .putSlot(let slot):
        try database.insertSlot(slot.number, slot.encoded(storeID: keys.storeID))
      case .deleteSlot(let number):
        try database.deleteSlot(number)
        removesKeySlot = true
      }
    }
    header = plan.header
    return .success(plan)
  }
}
