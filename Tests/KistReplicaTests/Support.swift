import Foundation
import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistSodium
import KistTesting
import KistVault
import Synchronization

@testable import KistSimulation

/// A directory that is removed with this value.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/kist-test-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
    path = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { path + "/" + name }
}

extension TestVault {
  /// Begins a second generation with the same members.
  func beginGeneration() async throws {
    let master = try key(8)
    let keys = try GenerationKeys(
      master: master, vault: Self.id, generation: 2, storeID: [UInt8](repeating: 6, count: 16))
    let record = Roster(
      keys, number: 2, before: roster.digest, time: .sample, admins: roster.roster.admins,
      members: try (1...4).map { try Self.member($0, keys, master) }
    ).encoded(signedBy: Self.admin, index: 0)
    let old = try await engine.cluster.head(1).head
    // The head of the new generation does not matter, because no machine reads it yet.
    _ = try await engine.cluster.commit(
      Commit(
        expected: Commit.ExpectedHead(generation: 1, bytes: old),
        puts: [.roster(number: 2): record], deletes: [.head(generation: 1)]))
  }

  /// Returns a cluster whose commits a test answers.
  func committing(
    _ commit: @escaping @Sendable (Commit) async throws(StorageError) -> CommitReply
  ) -> Cluster {
    var cluster = engine.cluster
    cluster.commit = commit
    return cluster
  }

  /// Joins the vault on a machine, with a copy in a file.
  func join(
    _ machine: Int, in directory: TemporaryDirectory, on cluster: Cluster? = nil,
    options: ReplicaOptions? = nil
  ) async throws -> SharedVault {
    let file = try Self.file(machine, in: directory)
    return try await SharedVault.join(
      invitation, on: cluster ?? engine.cluster, options ?? Self.options(machine)
    ) { master, storeID, epoch throws(StorageError) in
      try await EncryptedFile.openCopy(
        file, of: .init(master: master, storeID: storeID, epoch: epoch))
    }
  }

  /// Opens the copy of a machine that has joined.
  func open(
    _ machine: Int, in directory: TemporaryDirectory, on cluster: Cluster? = nil,
    options: ReplicaOptions? = nil
  ) async throws -> SharedVault {
    try await SharedVault.open(
      try await EncryptedFile.openCopy(Self.file(machine, in: directory)),
      on: cluster ?? engine.cluster, options ?? Self.options(machine))
  }

  /// Reads what a machine needs for a copy with a new key, while its copy is not open.
  func renewal(
    of machine: Int, in directory: TemporaryDirectory
  ) async throws -> SharedVault.Renewal? {
    let file = try Self.file(machine, in: directory)
    return try await SharedVault.renewal(
      after: try EncryptedFile.note(ofCopy: file.path), on: engine.cluster, Self.options(machine)
    ) { storeID throws(StorageError) in
      try await EncryptedFile.state(ofCopy: file, storeID: storeID)
    }
  }

  /// The options of the copy of a machine, which the seed of the machine opens.
  static func file(
    _ machine: Int, in directory: TemporaryDirectory
  ) throws -> EncryptedFile.Options {
    let seed = directory("seed-\(machine)")
    if !FileManager.default.fileExists(atPath: seed) {
      let bytes = Data(repeating: UInt8(machine), count: 32)
      guard
        FileManager.default.createFile(
          atPath: seed, contents: bytes, attributes: [.posixPermissions: 0o600])
      else { throw POSIXError(.EIO) }
    }
    return .init(path: directory("copy-\(machine).db"), keySource: .keyFile(path: seed))
  }
}

/// A clock without real time: it passes when a task waits, or when a test says so.
final class ManualTime: Sendable {
  private let time = Mutex(Duration.zero)

  func pass(_ duration: Duration) { time.withLock { $0 += duration } }

  /// Returns the options of a machine with this clock.
  func options(
    _ machine: Int, now: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) -> ReplicaOptions {
    var options = TestVault.options(machine, now: now)
    options.deadline = .seconds(10)
    options.elapsed = { self.time.withLock(\.self) }
    options.sleep = { self.pass($0) }
    return options
  }
}

extension Cluster {
  /// Returns the cluster with an answer that is too large for some records.
  func tooLarge(
    _ isTooLarge: @escaping @Sendable ([RecordName]) -> Bool
  ) -> Cluster {
    var cluster = self
    cluster.records = { names throws(StorageError) in
      if isTooLarge(names) { throw StorageError(.tooLarge, "the records are too large") }
      return try await self.records(names)
    }
    return cluster
  }

  /// A cluster that cannot be reached.
  static let unreachable = {
    let error = StorageError(
      .unavailable, "the cluster cannot be reached", outcome: .unchanged)
    return Cluster(
      head: { _ throws(StorageError) in throw error },
      list: { _ throws(StorageError) in throw error },
      records: { _ throws(StorageError) in throw error },
      commit: { _ throws(StorageError) in throw error },
      changes: { _ throws(StorageError) in throw error })
  }()
}
