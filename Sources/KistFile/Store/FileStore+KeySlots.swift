internal import KistCore
internal import KistSodium

extension FileStore {
  /// The slots that the header vouches for.
  func keySlots() async throws(StorageError) -> [KeySlotSummary] {
    _ = try session()
    return try readKeySlots().map(\.summary)
  }

  /// Wraps the master key under one more passphrase.
  ///
  /// It is not kept, and so is unwrapped once more for that.
  func addKeySlot(_ addition: KeySlotAddition) async throws(StorageError) -> [KeySlotSummary] {
    try await change(trying: addition.current) { [self] slots throws(StorageError) in
      let (opened, master) = try open(slots, with: addition.current)
      if addition.replacesCurrent && opened == nil {
        throw .badRequest("`replaceCurrent` needs `current`, the passphrase that is replaced")
      }
      let removed = addition.replacesCurrent ? opened : nil
      let passphrases = slots.count { $0.kind != .keyFile && $0.number != removed }
      guard passphrases < KeySlot.mostPassphrases else {
        throw StorageError(
          .tooLarge, "a store has at most \(KeySlot.mostPassphrases) passphrases",
          hint: "remove one first: `kist slots` shows them")
      }
      let number = (1...UInt32.max).first { number in !slots.contains { $0.number == number } }!
      let slot = try KeySlot(
        number: number, passphrase: addition.passphrase, wrapping: master, storeID: storeID,
        options)
      return KeySlotChange(slots: slots, added: slot, removed: removed)
    }
  }

  /// Removes a slot once one that stays was shown to open the store.
  func removeKeySlot(_ removal: KeySlotRemoval) async throws(StorageError) -> [KeySlotSummary] {
    try await change(trying: removal.current) { [self] slots throws(StorageError) in
      guard let slot = slots.first(where: { Int($0.number) == removal.number }) else {
        throw StorageError(
          .badRequest, "there is no slot of that number", hint: "`kist slots` shows them")
      }
      let rest = slots.filter { $0.number != slot.number }
      guard !rest.isEmpty else {
        throw StorageError(
          .badRequest, "this slot is the only way in", hint: "add another one first")
      }
      _ = try open(rest, with: removal.current)
      return KeySlotChange(slots: slots, removed: slot.number)
    }
  }

  func readKeySlots() throws(StorageError) -> [KeySlot] {
    try connections.read { database throws(StorageError) in
      try database.slots(storeID: storeID)
    }
  }

  /// Decides on a change where one passphrase is tried at a time, and carries it out as any other.
  private func change(
    trying passphrase: Secret?,
    _ decide: @escaping @Sendable ([KeySlot]) throws(StorageError) -> KeySlotChange
  ) async throws(StorageError) -> [KeySlotSummary] {
    do throws(StorageError) {
      _ = try session()
      let change = try await attempts.make(with: passphrase) { [self] () throws(StorageError) in
        try decide(readKeySlots())
      }
      guard case .keySlots(let slots) = try await carryOut(.keySlots(change)) else {
        throw .internal("a change of key slots was taken for another one")
      }
      return slots.map(\.summary)
    } catch { throw error.withOutcome(.unchanged) }
  }

  /// Unwraps the master key with a passphrase, and says of which slot it was, or with the key that
  /// the store was opened with.
  private func open(
    _ slots: [KeySlot], with passphrase: Secret?
  ) throws(StorageError) -> (number: UInt32?, master: GuardedKey) {
    if let passphrase {
      return try openSlot(with: passphrase, among: slots, storeID: storeID)
    }
    do throws(StorageError) {
      return (nil, try masterKey(from: options.keySource, slots, storeID: storeID))
    } catch {
      guard error.code == .locked else { throw error }
      let why = unlockingFile(slots) == nil ? "" : ": \(error.message)"
      guard slots.openWithPassphrase else {
        throw StorageError(
          .badRequest,
          "the key file, which alone would open the store then, must open it first\(why)",
          hint: "put it back, or start kistd with it (`--key-file`), and try again",
          outcome: .unchanged)
      }
      throw StorageError(
        .badRequest, "a passphrase that opens the store, and goes on doing so, is needed\(why)",
        hint: "give one that stays", outcome: .unchanged)
    }
  }
}

extension KeySlot {
  fileprivate var summary: KeySlotSummary {
    switch kind {
    case .keyFile: KeySlotSummary(number: Int(number), kind: .keyFile)
    case .passphrase(let cost, _):
      KeySlotSummary(
        number: Int(number), kind: .passphrase, passes: Int(cost.passes),
        kibibytes: Int(cost.kibibytes))
    }
  }
}
