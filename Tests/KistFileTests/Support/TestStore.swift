import Foundation
import GRDB
import KistCore
import KistFile
import KistSodium
import KistTesting

/// A store in a directory of its own, and the means to meddle with its files.
struct TestStore: Sendable {
  let directory: TemporaryDirectory
  let clock = ManualClock()
  /// Those with passphrases, whose answers are due at once.
  let attempts = PassphraseAttempts(sleep: { _ in })

  init(in parent: String = "/tmp") throws { directory = try TemporaryDirectory(in: parent) }

  var path: String { directory("data/credentials.db") }
  var keyPath: String { directory("state/key") }

  /// Opens the store with its key file unless another source of the key is said.
  func open(
    _ keySource: EncryptedFile.KeySource? = nil, deadline: Duration = .seconds(30),
    nonces: (@Sendable (Int) -> [UInt8])? = nil
  ) async throws(StorageError) -> OpenStorage {
    var options = EncryptedFile.Options(
      path: path, keySource: keySource ?? .keyFile(path: keyPath), now: clock.now,
      deadline: deadline, attempts: attempts, passphraseCost: .least)
    if let nonces { options.nonces = nonces }
    return try await EncryptedFile.open(options)
  }

  /// Makes a store with these credentials in it, and closes it.
  func fill(
    _ credentials: [NewCredential], _ keySource: EncryptedFile.KeySource? = nil
  ) async throws {
    let store = try await open(keySource)
    for credential in credentials { try await store.credentials.save(credential) }
    await store.close()
  }

  /// Changes the database behind the store's back.
  func meddle(_ body: (Database) throws -> Void) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.inDatabase(body)
    try queue.close()
  }

  /// The key in the key file.
  func key() throws -> Secret {
    Secret(copying: Array(try Data(contentsOf: URL(filePath: keyPath))))
  }

  /// The bytes of the database file.
  func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  /// The names in the store's directory.
  func names() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: directory("data")))
  }
}

/// The permissions of a file.
func mode(of path: String) throws -> Int {
  try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? -1
}

/// Credentials of several services, so that there is something beside the sample.
let threeCredentials: [NewCredential] = [
  .sample(), .sample(.init(service: "example.org", account: "bob"), secret: "battery"),
  .sample(.init(service: "example.net"), secret: "staple", label: "a label"),
]
