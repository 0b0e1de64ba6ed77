import KistCore
import KistTesting
import Testing

@testable import KistVault

@Suite(.timeLimit(.minutes(5))) struct `A planned change` {
  @Test func `a save writes a row that opens as it was saved, and raises sequence and count`()
    throws
  {
    var vault = try Vault()
    let credential = NewCredential.sample(
      label: "a label", attributes: ["kind": "token"],
      expiresAt: Timestamp(secondsSinceEpoch: 4_000_000_000))
    let plan = try vault.save(credential)
    let row = try #require(vault.rows[.sample])
    #expect(plan.writes == [.putRow(row, at: 9)])
    #expect(row.identity == RowIdentity(tag: vault.keys.tag(of: .sample), sequence: 1))
    #expect(vault.header.sequence == 1 && vault.header.count == 1)
    let opened = try vault.open(row)
    #expect(opened.secret == credential.secret)
    #expect(opened.metadata.summary(at: Revision(rawValue: "5.1")) == plan.answer)
    #expect(plan.answer == .sample(of: credential, revision: "5.1"))
    #expect(plan.event == .saved(.sample, Revision(rawValue: "5.1")))
  }

  @Test func `a second save keeps the time of the first and replaces its hash`() throws {
    var vault = try Vault()
    try vault.save()
    let later = try #require(Timestamp.sample.advanced(bySeconds: 60))
    let plan = try vault.save(.sample(secret: "new"), at: later)
    #expect(plan.answer.createdAt == .sample && plan.answer.modifiedAt == later)
    #expect(plan.answer.revision.rawValue == "5.2")
    #expect(vault.header.sequence == 2 && vault.header.count == 1)
    #expect(vault.tally().matches(vault.header))
    let row = try #require(vault.rows[.sample])
    #expect(try vault.open(row).secret == Secret(utf8: "new"))
  }

  @Test func `a deletion removes the row from the sum, and raises the sequence`() throws {
    var vault = try Vault()
    let empty = vault.header
    try vault.save()
    let plan = try vault.delete()
    #expect(plan.answer && plan.writes == [.deleteRow(at: 9)])
    #expect(plan.event == .deleted(.sample, Revision(rawValue: "5.2")))
    #expect(vault.header.sequence == 2 && vault.header.count == 0)
    #expect(vault.header.sum == empty.sum)
  }

  @Test func `a save after a deletion has new times and a new sequence`() throws {
    var vault = try Vault()
    try vault.save()
    try vault.delete()
    let later = try #require(Timestamp.sample.advanced(bySeconds: 60))
    let plan = try vault.save(at: later)
    #expect(plan.answer.createdAt == later && plan.answer.revision.rawValue == "5.3")
    #expect(vault.tally().matches(vault.header))
  }

  @Test func `a deletion of an absent credential writes nothing`() throws {
    var vault = try Vault()
    let before = vault.header
    let plan = try vault.delete()
    #expect(!plan.answer && plan.writes.isEmpty && plan.event == nil && plan.header == before)
  }

  @Test(
    arguments: [
      (false, Condition.always, nil), (true, .always, nil), (false, .ifAbsent, nil),
      (true, .ifAbsent, .conflict),
      (true, .ifRevision(Revision(rawValue: "5.1")), nil),
      (true, .ifRevision(Revision(rawValue: "5.2")), .conflict),
      (true, .ifRevision(Revision(rawValue: "6.1")), .conflict),
      (false, .ifRevision(Revision(rawValue: "5.1")), .conflict),
    ] as [(Bool, Condition, StorageError.Code?)])
  func `a save is refused unless its condition holds`(
    exists: Bool, condition: Condition, code: StorageError.Code?
  ) async throws {
    var vault = try Vault()
    if exists { try vault.save() }
    let before = vault.header
    if let code {
      await expect(code) { [vault] in
        var vault = vault
        try vault.save(if: condition)
      }
    } else {
      try vault.save(if: condition)
      #expect(vault.header.sequence == before.sequence + 1)
    }
  }

  @Test func `a deletion is refused unless the revision is the one that it names`() async throws {
    var vault = try Vault()
    try vault.save()
    for key in [CredentialKey.sample, CredentialKey(service: "absent")] {
      await expect(.conflict) { [vault] in
        var vault = vault
        try vault.delete(key, ifRevision: Revision(rawValue: "5.9"))
      }
    }
    let plan = try vault.delete(ifRevision: Revision(rawValue: "5.1"))
    #expect(plan.answer)
  }

  /// A row that some attack left where a change looks.
  enum Forgery: CaseIterable {
    case metadata, secret, sequence, otherStore, emptyHeader

    func apply(to vault: inout Vault) throws {
      switch self {
      case .metadata: vault.rows[.sample]?.metadata[30] ^= 1
      case .secret: vault.rows[.sample]?.secret[30] ^= 1
      case .sequence: vault.rows[.sample]?.identity.sequence += 1
      case .otherStore:
        var other = try Vault(storeID: Array(1..<17))
        try other.save()
        vault.rows[.sample] = other.rows[.sample]
      case .emptyHeader: vault.header.count = 0
      }
    }
  }

  @Test(arguments: Forgery.allCases)
  func `no change replaces a row that fails authentication, or that the header does not count`(
    forgery: Forgery
  ) async throws {
    var vault = try Vault()
    try vault.save()
    try forgery.apply(to: &vault)
    await expect(.corrupt) { [vault] in
      var vault = vault
      try vault.save()
    }
    await expect(.corrupt) { [vault] in
      var vault = vault
      try vault.delete()
    }
  }

  @Test func `a row of a copy is not replaced if the header counts no row`() async throws {
    var vault = try Vault()
    try vault.save()
    vault.header.count = 0
    let row = try #require(vault.rows[.sample])
    for new in [row, nil] {
      await expect(.corrupt) { [vault] in
        try vault.keys.plan(
          new, on: FoundRow(tag: row.identity.tag, address: 9, row: row), vault.header)
      }
    }
  }

  @Test(arguments: [false, true], [false, true])
  func `fields of a later version are kept by a save, and critical ones refuse it`(
    isCritical: Bool, isOfSecret: Bool
  ) async throws {
    var vault = try Vault()
    let tag: [UInt8] = isCritical ? [1, 0, 0, 0x80] : [1, 0, 0, 0]
    let bytes = tag + [1, 0, 0, 0, 0x61]
    let fields = try Fields(decoding: bytes.span)
    var metadata = Metadata(.sample(), createdAt: .sample, modifiedAt: .sample)
    if !isOfSecret { metadata.fields = fields }
    vault.header.sequence = 1
    let row = vault.keys.seal(
      metadata, Secret(utf8: "old"), isOfSecret ? fields : nil,
      as: RowIdentity(tag: vault.keys.tag(of: .sample), sequence: 1), &vault.nonces)
    vault.header.replaceRow(nil, with: vault.keys.hash(of: row))
    vault.rows[.sample] = row
    if isCritical {
      await expect(.denied) { [vault] in
        var vault = vault
        try vault.save()
      }
      let plan = try vault.delete()
      #expect(plan.answer)
    } else {
      try vault.save()
      let opened = try vault.open(try #require(vault.rows[.sample]))
      #expect(opened.secret == NewCredential.sample().secret)
      #expect((isOfSecret ? opened.secretFields : opened.metadata.fields) == fields)
    }
  }

  @Test func `a change of key slots replaces one by another, and their hash`() throws {
    let vault = try Vault()
    let slots = try [makeSlot(1), makeSlot(2)]
    let added = try makeSlot(3)
    let plan = try vault.keys.plan(
      KeySlotChange(slots: slots, added: added, removed: 1), on: slots, vault.header)
    #expect(plan.writes == [.deleteSlot(1), .putSlot(added)])
    #expect(plan.answer == [slots[1], added] && plan.event == nil)
    #expect(plan.header.sequence == 1)
    #expect(plan.header.slots == KeySlot.hash(of: plan.answer, storeID: vault.keys.storeID))
  }

  @Test func `a change of key slots is busy where another one changed them first`() async throws {
    let vault = try Vault()
    let slot = try makeSlot(1)
    await expect(.busy) {
      try vault.keys.plan(
        KeySlotChange(slots: [slot, makeSlot(2)], removed: 1), on: [slot], vault.header)
    }
  }
}
