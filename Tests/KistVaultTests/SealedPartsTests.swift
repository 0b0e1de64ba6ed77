import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistVault

@Suite(.timeLimit(.minutes(5))) struct `What is sealed under a store's keys` {
  let vault = try! Vault()
  let others = [try! Vault(keyOf: 8), try! Vault(storeID: Array(1..<17))]

  @Test func `a header opens as it was sealed, and in no other store`() async throws {
    var header = vault.header
    (header.sequence, header.count) = (9, 3)
    let sealed = vault.keys.seal(header, nonce: randomBytes(24))
    #expect(try vault.keys.openHeader(sealed) == header)
    for other in others { await expect(.corrupt) { try other.keys.openHeader(sealed) } }
    for offset in sealed.indices {
      var changed = sealed
      changed[offset] ^= 0x80
      await expect(.corrupt) { try vault.keys.openHeader(changed) }
    }
  }

  @Test(arguments: [(1, 2), (UInt64(Int64.max) + 1, 0)] as [(UInt64, UInt64)])
  func `a header with numbers that no change leaves is corrupt`(
    sequence: UInt64, count: UInt64
  ) async throws {
    var header = vault.header
    (header.sequence, header.count) = (sequence, count)
    let sealed = vault.keys.seal(header, nonce: randomBytes(24))
    await expect(.corrupt) { try vault.keys.openHeader(sealed) }
  }

  @Test func `a progress note opens as it was sealed, and in no other store`() throws {
    let note = ProgressNote(sequence: 12, time: .sample)
    let sealed = vault.keys.seal(note, nonce: randomBytes(24))
    #expect(sealed.count == 80 && sealed.count == ProgressNote.size)
    #expect(vault.keys.openNote(sealed) == note)
    for other in others { #expect(other.keys.openNote(sealed) == nil) }
    for offset in sealed.indices {
      var changed = sealed
      changed[offset] ^= 1
      #expect(vault.keys.openNote(changed) == nil)
    }
    #expect(vault.keys.openNote(Array(sealed.dropLast())) == nil)
    #expect(vault.keys.openNote(sealed + [0]) == nil)
  }

  @Test func `names open in the text that they were sealed for, and in no other store`()
    async throws
  {
    let names = RequestedNames(service: "service", account: nil)
    let (text, another) = (Array("a line".utf8), Array("another".utf8))
    var sealing = try NameSealing(vault.keys, nonce: randomBytes(24))
    var sealed = WipedBytes()
    sealing.seal(names, boundTo: text.span, into: &sealed)
    let bytes = copy(sealed)
    #expect(try vault.keys.openNames(bytes.span, boundTo: text.span) == names)
    await expect(.corrupt) { try vault.keys.openNames(bytes.span, boundTo: another.span) }
    for other in others {
      await expect(.corrupt) { try other.keys.openNames(bytes.span, boundTo: text.span) }
    }
  }

  @Test(
    arguments: [
      [], [1, 0, 0], [UInt8](repeating: 0, count: 65), [UInt8](repeating: 0, count: 63) + [1],
      [UInt8](repeating: 0, count: 60) + [61, 0, 0, 0],
    ] as [[UInt8]])
  func `padding that does not fit its message is corrupt`(bytes: [UInt8]) async throws {
    await expect(.corrupt) {
      var bytes = wiped(bytes)
      try bytes.unpad()
    }
  }

  @Test(
    arguments: [
      [], [0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0],
      [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
      [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    ] as [[UInt8]])
  func `fields that break the format are corrupt`(bytes: [UInt8]) async throws {
    await expect(.corrupt) { try Fields(decoding: bytes.span) }
  }

  @Test(arguments: [0, 40, 67, 68])
  func `metadata that is cut, goes on after its end or has an unknown flag is corrupt`(
    offset: Int
  ) async throws {
    let encoded = copy(
      Metadata(.sample(label: "a label"), createdAt: .sample, modifiedAt: .sample).encoded())
    #expect(encoded.count == 67)
    var changed = encoded
    switch offset {
    case 0: changed[0] |= 16
    case 68: changed.append(0)
    case let count: changed = Array(encoded.prefix(count - 1))
    }
    #expect(try Metadata(decoding: encoded.span).label == "a label")
    await expect(.corrupt) { try Metadata(decoding: changed.span) }
  }
}
