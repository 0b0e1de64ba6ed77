internal import KistCore
internal import KistSodium
internal import KistVault

extension FileStore {
  func keySlots() async throws(StorageError) -> [KeySlotSummary] {
    _ = try session()
    return try readKeySlots().map(\.summary)
  }

  /// Unwraps the master key, which is not kept in memory, and wraps it under another passphrase.
  func addKeySlot(_ addition: KeySlotAddition) async throws(StorageError) -> [KeySlotSummary] {
    try await change(trying: addition.current) { [self] slots throws(StorageError) in
      let (opened, master) = try open(slots, with: addition.current, or: addition.currentKey)
      if addition.replacesCurrent && opened == nil {
        throw .badRequest("`replaceCurrent` needs `current`, the passphrase that is replaced")
      }
      let removed = addition.replacesCurrent ? opened : nil
      let rest = slots.filter { $0.number != removed }
      try check(rest.count(where: \.isPassphrase), below: KeySlot.mostPassphrases, "passphrases")
      try check(rest.count, below: KeySlot.most, "key slots")
      var options = options
      options.allowsWeakPassphrase = addition.allowsWeak
      let slot = try KeySlot(
        number: slots.freeNumber, passphrase: addition.passphrase, wrapping: master,
        storeID: storeID, options)
      return KeySlotChange(slots: slots, added: slot, removed: removed)
    }
  }

  /// Adds a slot for a key file, which is created if it is missing; returns the number of the slot.
  ///
  /// A key file that opens the store already keeps its slot.
  func addKeyFile(
    _ path: String, with passphrase: EncryptedFile.KeySource
  ) async throws(StorageError) -> Int {
    let slots = try readKeySlots()
    let master = try masterKey(from: passphrase, slots, storeID: storeID)
    if let key = try KeyFile.read(path) {
      for slot in slots where try openSlot(with: key, among: [slot], storeID: storeID) != nil {
        return Int(slot.number)
      }
    }
    try check(slots.count, below: KeySlot.most, "key slots")
    let slot = try KeySlot(
      number: slots.freeNumber, openedBy: .keyFile(path: path), wrapping: master, storeID: storeID,
      options)
    _ = try await carryOut { transaction throws(StorageError) in
      try transaction.changeKeySlots(KeySlotChange(slots: slots, added: slot))
    }
    return Int(slot.number)
  }

  private func check(_ count: Int, below most: Int, _ name: String) throws(StorageError) {
    guard count >= most else { return }
    throw StorageError(
      .tooLarge, "a store has at most \(most) \(name)",
      hint: "remove one first: `kist slots` shows them")
  }

  /// Removes a slot after the client proves that a remaining slot opens the store.
  func removeKeySlot(_ removal: KeySlotRemoval) async throws(StorageError) -> [KeySlotSummary] {
    try await change(trying: removal.current) { [self] slots throws(StorageError) in
      guard let slot = slots.first(where: { Int($0.number) == removal.number }) else {
        throw StorageError(
          .badRequest, "there is no slot of that number", hint: "`kist slots` shows them")
      }
      let rest = slots.filter { $0.number != slot.number }
      guard rest.contains(where: \.isKnown) else {
        throw StorageError(
          .badRequest,
          rest.isEmpty
            ? "this is the only key slot"
            : "this slot is the only one of a kind that this kistd knows",
          hint: "add another one first")
      }
      _ = try open(rest, with: removal.current, or: removal.currentKey)
      return KeySlotChange(slots: slots, removed: slot.number)
    }
  }

  func readKeySlots() throws(StorageError) -> [KeySlot] {
    try connections.readEvenLocked { database throws(StorageError) in
      try database.slots(storeID: storeID)
    }
  }

  /// Decides on a change while no other passphrase is tried, and carries it out like any change.
  private func change(
    trying passphrase: Secret?,
    _ decide: @escaping @Sendable ([KeySlot]) throws(StorageError) -> KeySlotChange
  ) async throws(StorageError) -> [KeySlotSummary] {
    do throws(StorageError) {
      _ = try session()
      let change = try await options.attempts.make(with: passphrase) {
        [self] () throws(StorageError) in
        try decide(readKeySlots())
      }
      return try await carryOut { transaction throws(StorageError) in
        try transaction.changeKeySlots(change)
      }.map(\.summary)
    } catch { throw error.withOutcome(.unchanged) }
  }

  /// Unwraps the master key with a passphrase or a key file; also returns the passphrase's slot.
  ///
  /// kistd's own key file is not enough, because any program that reaches the socket could use it.
  private func open(
    _ slots: [KeySlot], with passphrase: Secret?, or key: Secret?
  ) throws(StorageError) -> (number: UInt32?, master: GuardedKey) {
    guard passphrase == nil || key == nil else {
      throw .badRequest("`current` and `currentKey` cannot be combined")
    }
    if let passphrase { return try openSlot(with: passphrase, among: slots, storeID: storeID) }
    guard let key else {
      throw StorageError(
        .badRequest,
        "this change needs the passphrase or the key file of a remaining key slot",
        hint:
          "give `current`, the passphrase, or `currentKey`, the key file; `kist passphrase` and "
          + "`kist slots` do so", outcome: .unchanged)
    }
    guard key.count == GuardedKey.size else {
      throw .badRequest("`currentKey` is not a key of \(GuardedKey.size) bytes")
    }
    let keyFile = try key.withBytes { bytes throws(StorageError) in try GuardedKey(copying: bytes) }
    guard let master = try openSlot(with: keyFile, among: slots, storeID: storeID) else {
      throw StorageError(
        .denied, "the key file opens none of the remaining key slots",
        hint: "name the key file that opens the store with `--key-file`", outcome: .unchanged)
    }
    return (nil, master)
  }
}

extension [KeySlot] {
  /// The smallest number that no slot has.
  fileprivate var freeNumber: UInt32 {
    (1...UInt32.max).first { number in !contains { $0.number == number } }!
  }
}

extension KeySlot {
  fileprivate var summary: KeySlotSummary {
    let number = Int(number)
    return switch kind {
    case .keyFile: KeySlotSummary(number: number, kind: .keyFile)
    case .passphrase(let cost, _):
      KeySlotSummary(
        number: number, kind: .passphrase, passes: Int(cost.passes), kibibytes: Int(cost.kibibytes))
    case .unknown: KeySlotSummary(number: number, kind: .unknown)
    }
  }
}
