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

/// Returns a key whose bytes are all the same.
func key(_ byte: UInt8) throws -> GuardedKey {
  try GuardedKey(copying: [UInt8](repeating: byte, count: 32).span)
}

func nonce() -> [UInt8] { randomBytes(24) }

/// A vault in a cluster in memory, with an admin, a reader (4), and writers (1 to 3, and more on demand).
struct TestVault: Sendable {
  static let id = RecordID([UInt8](repeating: 1, count: 16))!
  static let admin = try! SigningKey(seed: key(0xAD))

  static let writers = [1, 2, 3, 5, 6, 7, 8, 9, 10]

  let engine: MemoryEngine
  let keys: GenerationKeys
  let master: GuardedKey
  let rosterRecord: [UInt8]
  let roster: VerifiedRoster
  var invitation: SharedVault.Invitation

  static func machine(_ number: Int) -> MachineIdentity {
    try! MachineIdentity(seed: key(UInt8(number)))
  }

  static func member(
    _ number: Int, _ keys: GenerationKeys, _ master: GuardedKey, until: Timestamp? = nil
  ) throws -> Member {
    try Member(
      machine(number).keys, number == 4 ? .reader : .writer, name: "machine \(number)",
      added: .sample, until: until, wrapping: master, of: keys, nonce: nonce())
  }

  /// - Parameter until: the end of all memberships; `nil` for no end.
  init(
    on engine: MemoryEngine = MemoryEngine(), members: ClosedRange<Int> = 1...4,
    until: Timestamp? = nil
  ) async throws {
    self.engine = engine
    master = try key(7)
    keys = try GenerationKeys(
      master: master, vault: Self.id, generation: 1, storeID: [UInt8](repeating: 5, count: 16))
    let (keys, master) = (keys, master)
    rosterRecord = Roster(
      keys, number: 1, before: .none, time: .sample, admins: [Self.admin.publicKey],
      members: try members.map { try Self.member($0, keys, master, until: until) }
    ).encoded(signedBy: Self.admin, index: 0)
    roster = try VerifiedRoster(
      verifying: rosterRecord, of: Self.id, signedBy: Self.admin.publicKey)
    let head = keys.encode(
      Head(
        sequence: 0, count: 0, epoch: Epoch(9), sum: .zero, roster: roster.digest, before: .none,
        time: .sample, operation: RecordID(randomBytes(16))!, change: .begin),
      signedBy: Self.machine(1), nonce: nonce())
    _ = try await engine.cluster.commit(
      Commit(
        expected: Commit.ExpectedHead(generation: 1, bytes: nil),
        puts: [
          .roster(number: 1): rosterRecord, .head(generation: 1): head,
          .logEntry(generation: 1, sequence: 0): head,
        ]))
    invitation = SharedVault.Invitation(
      vault: Self.id, admin: Self.admin.publicKey, roster: 1,
      head: HeadPoint(sequence: 0, digest: Digest(of: head)))
  }

  /// The options of a machine that waits only as long as necessary.
  static func options(
    _ machine: Int, now: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) -> ReplicaOptions {
    var options = ReplicaOptions(machine: Self.machine(machine))
    options.now = now
    // On a busy machine, many changes wait long for their turn.
    options.deadline = .seconds(240)
    return options
  }

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
