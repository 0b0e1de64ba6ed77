import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistVault

private let storeID = [UInt8](0..<16)
private let keyFile = [UInt8](repeating: 3, count: 32)
private let master = [UInt8](repeating: 4, count: 32)

func makeSlot(_ number: UInt32, passphrase: String? = nil) throws -> KeySlot {
  let master = try GuardedKey(copying: master.span)
  let nonce = [UInt8](repeating: 5, count: 24)
  guard let passphrase else {
    return try KeySlot(
      number: number, keyFile: GuardedKey(copying: keyFile.span), wrapping: master,
      storeID: storeID, nonce: nonce)
  }
  return try KeySlot(
    number: number, passphrase: Secret(utf8: passphrase), cost: .least, wrapping: master,
    storeID: storeID, nonce: nonce)
}

@Suite(.timeLimit(.minutes(5))) struct `A key slot in bytes` {
  @Test func `is decoded as it was encoded, and opens with its key alone`() async throws {
    let slots = try [
      makeSlot(1), makeSlot(2, passphrase: "correct"), makeSlot(3, passphrase: "so"),
    ]
    .map {
      try KeySlot(decoding: $0.encoded(storeID: storeID), number: $0.number, storeID: storeID)
    }
    let opened = try #require(
      try openSlot(with: GuardedKey(copying: keyFile.span), among: slots, storeID: storeID))
    #expect(opened.withBytes { [UInt8](copying: $0) } == master)
    let (number, key) = try openSlot(with: Secret(utf8: "so"), among: slots, storeID: storeID)
    #expect(number == 3 && key.withBytes { [UInt8](copying: $0) } == master)
    #expect(
      try openSlot(with: GuardedKey(copying: master.span), among: slots, storeID: storeID) == nil)
    await expect(.wrongPassphrase) {
      try openSlot(with: Secret(utf8: "wrong"), among: slots, storeID: storeID)
    }
  }

  @Test func `does not open in another place or another store`() throws {
    let slot = try makeSlot(1)
    let moved = KeySlot(number: 2, kind: slot.kind, wrapped: slot.wrapped)
    let key = try GuardedKey(copying: keyFile.span)
    #expect(try openSlot(with: key, among: [moved], storeID: storeID) == nil)
    #expect(try openSlot(with: key, among: [slot], storeID: Array(1..<17)) == nil)
  }

  @Test func `with any flipped byte is corrupt`() async throws {
    for slot in try [makeSlot(1), makeSlot(1, passphrase: "correct")] {
      let encoded = slot.encoded(storeID: storeID)
      for offset in encoded.indices {
        var changed = encoded
        changed[offset] ^= 1
        await expect(.corrupt) {
          try KeySlot(decoding: changed, number: 1, storeID: storeID)
        }
      }
      await expect(.corrupt) { try KeySlot(decoding: encoded, number: 2, storeID: storeID) }
    }
  }

  @Test(arguments: [(1, 8), (16, 1 << 20)] as [(UInt32, UInt32)])
  func `is accepted at the ends of the range of costs, and corrupt beyond them`(
    passes: UInt32, kibibytes: UInt32
  ) async throws {
    let isLeast = passes == 1
    for (cost, isAccepted) in [
      (KDFCost(passes: passes, kibibytes: kibibytes), true),
      (KDFCost(passes: isLeast ? 0 : 17, kibibytes: kibibytes), false),
      (KDFCost(passes: passes, kibibytes: isLeast ? 7 : 1 << 20 + 1), false),
    ] {
      let kind = KeySlot.Kind.passphrase(cost, salt: [UInt8](repeating: 0, count: 16))
      let encoded = KeySlot(number: 1, kind: kind, wrapped: [UInt8](repeating: 0, count: 72))
        .encoded(storeID: storeID)
      if isAccepted {
        #expect(try KeySlot(decoding: encoded, number: 1, storeID: storeID).kind == kind)
      } else {
        await expect(.corrupt) { try KeySlot(decoding: encoded, number: 1, storeID: storeID) }
      }
    }
  }

  @Test func `all slots together cost at most as much as the dearest one`() async throws {
    let dear = KeySlot.Kind.passphrase(
      KDFCost(passes: 8, kibibytes: 1 << 20), salt: [UInt8](repeating: 0, count: 16))
    let slots = (1...3).map { KeySlot(number: $0, kind: dear, wrapped: []) }
    try KeySlot.checkTotalCost(of: Array(slots.prefix(2)))
    await expect(.corrupt) { try KeySlot.checkTotalCost(of: slots) }
  }
}
