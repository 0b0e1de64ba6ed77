import KistCore
import Testing

// One at a time: a scan holds copies of what another test is looking for.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct WipedBytesTests {
  /// Goes through every call once: at the first call of a function the dynamic linker saves the
  /// vector registers, and with them the last bytes that were copied, to the stack.
  init() throws { try keepForAWhile(Canary()) }

  @Test func `a secret's bytes are nowhere in memory once its last copy is gone`() throws {
    let canary = Canary()
    try keepForAWhile(canary)
    #expect(try canary.occurrences() == 0)
  }

  /// A frame of its own, so that nothing of it lives on in the test's.
  @inline(never)
  private func keepForAWhile(_ canary: Canary) throws {
    var bytes = WipedBytes(capacity: 1)
    // Many, so that an allocator that hands the memory out again overwrites only some of them.
    canary.append(to: &bytes, times: 500)
    let secret = Secret(bytes)
    let copies = [secret, secret]
    #expect(try canary.occurrences() >= 500)
    #expect(copies.allSatisfy { $0.count == 500 * Canary.count })
  }

  @Test func `a buffer that grows leaves nothing behind`() throws {
    let canary = Canary()
    var bytes = WipedBytes(capacity: 1)
    for times in 1...300 {
      canary.append(to: &bytes, times: 1)
      if times % 60 == 0 { #expect(try canary.occurrences() == times) }
    }
    #expect(bytes.capacity > 300 * Canary.count)
  }

  @Test func `removeAll overwrites everything and keeps the memory`() throws {
    let canary = Canary()
    var bytes = WipedBytes()
    canary.append(to: &bytes)
    let capacity = bytes.capacity
    bytes.removeAll()
    #expect(bytes.count == 0)
    #expect(bytes.capacity == capacity)
    #expect(try canary.occurrences() == 0)
  }

  @Test func `truncate overwrites all but the first bytes`() throws {
    let canary = Canary()
    var bytes = WipedBytes()
    canary.append(to: &bytes, times: 100)
    bytes.truncate(to: 40 * Canary.count)
    #expect(bytes.count == 40 * Canary.count)
    #expect(try canary.occurrences() == 40)
    bytes.truncate(to: bytes.count)
    #expect(bytes.count == 40 * Canary.count)
  }

  @Test func `bytes stay in order, however they are appended`() {
    var bytes = WipedBytes(capacity: 0)
    bytes.append(0)
    bytes.append(utf8: "é")
    let array: [UInt8] = [1, 2, 3]
    bytes.append(array.span)
    let answer = bytes.append(upTo: 4) { output in
      output.append(0xFE)
      output.append(0xFF)
      return "done"
    }
    #expect(answer == "done")
    #expect(contents(of: bytes) == [0, 0xC3, 0xA9, 1, 2, 3, 0xFE, 0xFF])
  }

  @Test func `a body that fails appends nothing`() {
    var bytes = WipedBytes()
    bytes.append(1)
    #expect(throws: StorageError.notFound) {
      try bytes.append(upTo: 8) { output throws(StorageError) in
        output.append(2)
        throw .notFound
      }
    }
    #expect(contents(of: bytes) == [1])
  }
}

private func contents(of bytes: borrowing WipedBytes) -> [UInt8] {
  bytes.withBytes { span in span.indices.map { span[$0] } }
}
