import Foundation
import KistCore
import KistFile
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Names in a log beside the store` {
  let store = try! TestStore()

  @Test(arguments: [
    RequestedNames(service: "example.org", account: "alice"),
    RequestedNames(service: "s", account: ""), RequestedNames(service: nil, account: "alice"),
    RequestedNames(service: String(repeating: "é", count: 512), account: nil),
  ])
  func `are opened by the store that sealed them, also after a restart`(names: RequestedNames)
    async throws
  {
    var opened = try await store.open()
    let sealed = try #require(try seal(opened).seal(names, "a line"))
    #expect(try seal(opened).open(sealed, "a line") == names)
    await opened.close()
    opened = try await store.open()
    #expect(try seal(opened).open(sealed, "a line") == names)
    await opened.close()
  }

  @Test func `are opened in the line that they were sealed for, and by no other store`()
    async throws
  {
    let names = RequestedNames(.sample)
    let opened = try await store.open()
    let sealed = try #require(try seal(opened).seal(names, "a line"))
    await expect(.corrupt) { try seal(opened).open(sealed, "another") }
    let other = try TestStore()
    let stranger = try await other.open()
    await expect(.corrupt) { try seal(stranger).open(sealed, "a line") }
    for length in [0, 23, 40, sealed.count - 1] {
      await expect(.corrupt) { try seal(opened).open(Array(sealed.prefix(length)), "a line") }
    }
    await opened.close()
    await stranger.close()
  }

  @Test func `are neither sealed nor opened while it is locked or closed`() async throws {
    let opened = try await store.open()
    let seal = try seal(opened)
    let sealed = try #require(seal.seal(RequestedNames(.sample), ""))
    _ = try await opened.access.lock()
    #expect(seal.begin() == nil)
    await expect(.locked) { try seal.open(sealed, "") }
    _ = try await opened.access.unlock(nil)
    #expect(try seal.open(sealed, "") == RequestedNames(.sample))
    await opened.close()
    #expect(seal.seal(RequestedNames(.sample), "") == nil)
    await expect(.unavailable) { try seal.open(sealed, "") }
  }

  @Test
  func
    `of up to 48 bytes have one size when sealed, and the same names are never sealed to the same bytes`()
    async throws
  {
    let opened = try await store.open()
    let seal = try seal(opened)
    let sealed = (1...47).compactMap { size in
      seal.seal(
        RequestedNames(service: String(repeating: "s", count: size), account: "a"), "")
    }
    #expect(sealed.count == 47)
    #expect(Set(sealed.map(\.count)).count == 1)
    #expect(
      seal.seal(RequestedNames(.sample), "") != seal.seal(RequestedNames(.sample), ""))
    await opened.close()
  }

  @Test func `are sealed by the golden store as in the page about the log`() async throws {
    try FileManager.default.createDirectory(
      atPath: store.directory("data"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try golden("v1-key-file.db").write(to: URL(filePath: store.path))
    try golden("v1-key-file.key").write(to: URL(filePath: store.directory("key")))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: store.directory("key"))
    let opened = try await store.open(
      .keyFile(path: store.directory("key")), nonces: { _ in Array(1...24) })
    let shell = AuditedPeer(
      pid: 4242, uid: 1000, unit: "session-2.scope", claimedName: "kist", evidence: .pidfd)
    let backup = AuditedPeer(
      pid: 977, uid: 1000, unit: "backup.service", claimedName: "restic", evidence: .pidfd)
    let stranger = AuditedPeer(
      pid: 5001, uid: 33, unit: "apache2.service", claimedName: "php-fpm", evidence: .pidfd)
    let requests = [
      (note("load", nil, 23, RequestedNames(service: "github.com", account: "alice")), shell),
      (
        note("save", .conflict, 141, RequestedNames(service: "backup.example", account: "")),
        backup
      ),
      (note("connect", .denied, 0, nil), stranger),
    ]
    var log = AuditLineWriter(capacity: 2048, sealedBy: opened.nameSeal)
    for (note, peer) in requests {
      log.append(
        note, of: AuditLineWriter.Client(peer), at: .init(second: .sample, milliseconds: 7))
    }
    // The page has the members that chain them, too: `AuditChainTests.swift`.
    let lines = String(decoding: log.block.text.dropLast(2), as: UTF8.self)
    await opened.close()
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/audit.md")
    #expect(
      try String(contentsOf: page, encoding: .utf8).contains("```jsonl\n\(lines),\"number\":3"),
      "\(lines)")
  }

  private func note(
    _ operation: String, _ failure: StorageError.Code?, _ microseconds: Int64,
    _ names: RequestedNames?
  ) -> RequestNotes.Note {
    var note = RequestNotes.Note()
    note.operation = operation
    note.failure = failure
    note.end = microseconds * 1000
    note.names = names
    return note
  }

  private func seal(_ storage: OpenStorage) throws -> NameSeal {
    try #require(storage.nameSeal)
  }
}

extension NameSeal {
  fileprivate func seal(_ names: RequestedNames, _ text: String) -> [UInt8]? {
    guard let seal = begin() else { return nil }
    let text = Array(text.utf8)
    var sealed = WipedBytes()
    seal(names, text.span, &sealed)
    return sealed.withBytes { bytes in bytes.indices.map { bytes[$0] } }
  }

  fileprivate func open(_ sealed: [UInt8], _ text: String) throws(StorageError) -> RequestedNames {
    let text = Array(text.utf8)
    return try open(sealed.span, text.span)
  }
}
