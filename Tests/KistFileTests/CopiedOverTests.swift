import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

/// A user may restore a copy with cp(1), which keeps the file that kistd has open.
@Suite(.timeLimit(.minutes(10))) struct `A store into whose file another program writes` {
  let store = try! TestStore()
  private let second = NewCredential.sample(.init(service: "example.org"), secret: "second")
  private let third = NewCredential.sample(.init(service: "example.net"), secret: "third")

  @Test(arguments: [true, false])
  func `refuses changes after another program copied a file into it`(isOfSameStore: Bool)
    async throws
  {
    try await store.fill([.sample()])
    let other = try TestStore()
    try await other.fill([.sample()])
    let copy = store.directory("copy")
    try FileManager.default.copyItem(
      atPath: isOfSameStore ? store.path : other.path, toPath: copy)
    let opened = try await store.open()
    try await opened.credentials.save(second)
    try write(copy, into: store.path)
    let placed = (try store.bytes(), try Data(contentsOf: URL(filePath: store.path + "-wal")))
    for request in [
      { try await opened.credentials.save(third) as Any },
      { try await opened.credentials.delete(.sample) as Any },
      { try await opened.credentials.load(CredentialKey(service: "absent")) as Any },
      { try await opened.credentials.find(CredentialQuery()) as Any },
    ] {
      let error = await expect(.corrupt, from: request)
      #expect(error?.message.contains("another program changed the file") == true)
    }
    let problem = try await opened.access.status().problem
    #expect(problem?.message.contains("another program changed the file") == true)
    // What is there now is neither merged with the log of the former file nor opened with it.
    _ = try await opened.access.lock()
    #expect(try store.bytes() == placed.0)
    #expect(try Data(contentsOf: URL(filePath: store.path + "-wal")) == placed.1)
    let refusal = await expect(.unavailable) { try await opened.access.unlock(nil) }
    #expect(refusal?.message.contains("log") == true)
    await opened.close()
    #expect(try store.bytes() == placed.0)
  }

  @Test func `refuses each change, also after a change that merged the log`() async throws {
    try await store.fill([.sample()])
    let copy = store.directory("copy")
    try FileManager.default.copyItem(atPath: store.path, toPath: copy)
    let opened = try await store.open()
    // One transaction whose frames exceed the limit for a merge.
    try await withThrowingTaskGroup { group in
      for number in 0..<40 {
        group.addTask {
          try await opened.credentials.save(
            .sample(.init(service: "s\(number)"), secret: String(repeating: "x", count: 200_000)))
        }
      }
      try await group.waitForAll()
    }
    try write(copy, into: store.path)
    let placed = try store.bytes()
    for _ in 0..<3 { await expect(.corrupt) { try await opened.credentials.save(second) } }
    _ = try await opened.access.lock()
    await opened.close()
    #expect(try store.bytes() == placed)
  }

  @Test func `gets no log again if the log was removed`() async throws {
    try await store.fill([.sample()])
    let copy = store.directory("copy")
    try FileManager.default.copyItem(atPath: store.path, toPath: copy)
    let opened = try await store.open()
    try await opened.credentials.save(second)
    try write(copy, into: store.path)
    try FileManager.default.removeItem(atPath: store.path + "-wal")
    _ = try await opened.access.lock()
    #expect(!FileManager.default.fileExists(atPath: store.path + "-wal"))
    await opened.close()
    #expect(try Data(contentsOf: URL(filePath: copy)) == store.bytes())
  }

  @Test func `goes on after it merged its log itself`() async throws {
    let opened = try await store.open()
    // Each save adds a few frames to the log, which is merged from 1000 on.
    for number in 0..<600 {
      try await opened.credentials.save(
        .sample(
          .init(service: "s\(number % 40)"), secret: String(repeating: "x", count: 4000)))
      await expect(.notFound) {
        try await opened.credentials.load(CredentialKey(service: "absent"))
      }
    }
    #expect(try await opened.access.status().problem == nil)
    await opened.close()
  }
}
