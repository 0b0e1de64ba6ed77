import Foundation
import KistCore
import KistFile
import KistSodium
import KistTesting

extension TestStore {
  func progress(
    delay: Duration = .seconds(1), accepting: @escaping @Sendable () -> Bool = { false },
    report: @escaping @Sendable (StorageError) -> Void = { _ in }
  ) -> EncryptedFile.ProgressOptions {
    EncryptedFile.ProgressOptions(
      directory: directory("state"), delay: delay, acceptsRollback: accepting, report: report)
  }

  func open(
    acceptingRollback accepts: @escaping @Sendable @autoclosure () -> Bool,
    _ keySource: EncryptedFile.KeySource? = nil, delay: Duration = .seconds(1),
    report: @escaping @Sendable (StorageError) -> Void = { _ in }
  ) async throws -> OpenStorage {
    try await open(acceptingRollback: accepts, keySource, delay: delay, report: report)
  }

  func open(
    acceptingRollback accepts: @escaping @Sendable () -> Bool,
    _ keySource: EncryptedFile.KeySource? = nil, delay: Duration = .seconds(1),
    report: @escaping @Sendable (StorageError) -> Void = { _ in }
  ) async throws -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: path, keySource: keySource ?? .keyFile(path: keyPath), now: clock.now,
        passphraseCost: .least,
        progress: progress(delay: delay, accepting: accepts, report: report)))
  }

  /// Saves one credential and another, closes the store after each; returns the store as it was between.
  func filledTwice(_ keySource: EncryptedFile.KeySource? = nil) async throws -> Data {
    var opened = try await open(acceptingRollback: false, keySource)
    try await opened.credentials.save(.sample())
    await opened.close()
    let copy = try bytes()
    opened = try await open(acceptingRollback: false, keySource)
    try await opened.credentials.save(.sample(.init(service: "example.org"), secret: "second"))
    await opened.close()
    return copy
  }

  /// Replaces the database.
  func put(_ database: Data) throws {
    for suffix in ["-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path + suffix)
    }
    try database.write(to: URL(filePath: path))
  }

  /// The files that note how far stores have come.
  func notes() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory("state"))
      .filter { $0.hasPrefix("progress-") }.map { directory("state/\($0)") }
  }
}

/// Why a store does not open; `nil` when it does.
func opening(
  _ store: TestStore, _ keySource: EncryptedFile.KeySource? = nil,
  accepting: @escaping @Sendable () -> Bool = { false }
) async throws -> StorageError? {
  do {
    let opened = try await store.open(acceptingRollback: accepting, keySource)
    await opened.close()
    return nil
  } catch let error as StorageError { return error }
}
