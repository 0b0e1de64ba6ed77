import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting

/// A store at rest, as the bytes of its files, and what is in it.
struct Specimen: Sendable {
  /// The database.
  var database: Data
  /// What stands beside it, by what its name has after that of the database.
  var beside: [String: Data] = [:]
  let key: Data
  let content: [Credential]

  /// Copies a store that is closed.
  init(of store: TestStore) async throws {
    let opened = try await store.open()
    var content: [Credential] = []
    for summary in try await opened.credentials.findAll() {
      content.append(try await opened.credentials.load(summary.key))
    }
    await opened.close()
    self.content = content.sorted { $0.summary.key < $1.summary.key }
    key = try Data(contentsOf: URL(filePath: store.keyPath))
    database = try store.bytes()
  }

  /// Makes a store of these credentials.
  init(of credentials: [NewCredential]) async throws {
    let store = try TestStore()
    try await store.fill(credentials)
    try await self.init(of: store)
  }

  /// Puts the files where a store has them, in place of all that is there.
  func lay(in store: TestStore) throws {
    let manager = FileManager.default
    for path in [store.directory("data"), store.directory("state")] {
      try? manager.removeItem(atPath: path)
      try manager.createDirectory(
        atPath: path, withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    try key.write(to: URL(filePath: store.keyPath))
    try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: store.keyPath)
    try database.write(to: URL(filePath: store.path))
    for (suffix, bytes) in beside { try bytes.write(to: URL(filePath: store.path + suffix)) }
  }

  /// The same after SQL was run on it behind the store's back.
  func after(_ body: (Database) throws -> Void) throws -> Specimen {
    let store = try TestStore(in: "/dev/shm")
    try lay(in: store)
    try store.meddle(body)
    var copy = self
    copy.database = try store.bytes()
    return copy
  }

  /// What SQL gives of it.
  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    var value: Value?
    _ = try after { value = try body($0) }
    return value!
  }
}

extension Specimen {
  /// Credentials of two services, one of them with a secret that takes pages of its own.
  static let few: [NewCredential] =
    threeCredentials.dropLast() + [
      .sample(
        .init(service: "example.net"), secret: String(repeating: "staple ", count: 300),
        label: "a label", attributes: ["kind": "token"])
    ]

  /// So many credentials that their table has pages above pages.
  static let many: [NewCredential] = (0..<60).map { number in
    .sample(
      .init(service: "service \(number % 5)", account: String(number)),
      secret: String(repeating: "secret \(number) ", count: 1 + number * number / 20))
  }
}
