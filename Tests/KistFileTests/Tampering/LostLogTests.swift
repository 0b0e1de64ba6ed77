import Foundation
import KistCore
import KistTesting
import Testing

/// The log that a crash leaves has no key in it, and each of its ends is a whole store
/// (docs/file-format.md, "What it does not do"): what is damaged or cut off leaves an earlier one.
@Suite(.timeLimit(.minutes(10))) struct `A log of which a part was damaged or cut off` {
  @Test func `leaves the store with the changes up to one of them, or corrupt`() async throws {
    let (specimen, states) = try await unclosed()
    let log = try #require(specimen.beside["-wal"])
    var tampered = stride(from: 0, to: log.count * 8, by: 1009).map { bit in
      var log = log
      log[bit / 8] ^= 1 << (bit % 8)
      return specimen.with(log)
    }
    // A header of 32 bytes, then pages of 4,096 with headers of 24.
    tampered += stride(from: 32, through: log.count, by: 4120).flatMap { end in
      [end - 1, end, end + 1, end + 24].map { specimen.with(log.prefix($0)) }
    }
    let store = try TestStore(in: "/dev/shm")
    var seen: [Int: Int] = [:]
    for specimen in tampered {
      let state = try await state(of: specimen, among: states, in: store)
      seen[state, default: 0] += 1
    }
    // The first of all and the last one among them.
    #expect(seen[0] != nil && seen[states.count - 1] != nil, "\(seen)")
  }

  /// A store as a crash leaves it, and what was in it before and after each change in its log.
  private func unclosed() async throws -> (Specimen, [[Credential]]) {
    let store = try TestStore(in: "/dev/shm")
    try await store.fill(Specimen.few)
    var specimen = try await Specimen(of: store)
    var states = [specimen.content]
    let opened = try await store.open()
    for change in 0..<4 {
      if change == 2 {
        try await opened.credentials.delete(.sample)
      } else {
        let key = CredentialKey(service: "example.org", account: change == 3 ? "bob" : "new")
        try await opened.credentials.save(.sample(key, secret: "after change \(change)"))
      }
      var content: [Credential] = []
      for summary in try await opened.credentials.findAll() {
        content.append(try await opened.credentials.load(summary.key))
      }
      states.append(content.sorted { $0.summary.key < $1.summary.key })
    }
    specimen.database = try store.bytes()
    let log = try Data(contentsOf: URL(filePath: store.path + "-wal"))
    await opened.close()
    return (specimen.with(log), states)
  }

  /// Which of the states the store is in; -1 when it is corrupt.
  private func state(
    of specimen: Specimen, among states: [[Credential]], in store: TestStore
  ) async throws -> Int {
    try specimen.lay(in: store)
    let opened: OpenStorage
    do throws(StorageError) { opened = try await store.open() } catch {
      #expect(error.code == .corrupt)
      #expect(try store.bytes() == specimen.database)
      return -1
    }
    var content: [Credential] = []
    do throws(StorageError) {
      for summary in try await opened.credentials.findAll() {
        content.append(try await opened.credentials.load(summary.key))
      }
    } catch {
      #expect(error.code == .corrupt)
      await opened.close()
      return -1
    }
    await opened.close()
    content.sort { $0.summary.key < $1.summary.key }
    return try #require(states.firstIndex(of: content), "a mixture of its states")
  }
}
