import KistCluster
import KistCore
import KistReplica
import KistShared
import KistSodium
import KistTesting
import KistVault

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

  var engine: MemoryEngine
  let keys: GenerationKeys
  let master: GuardedKey
  let rosterRecord: [UInt8]
  let roster: VerifiedRoster
  var invitation: SharedVault.Invitation

  private static let machines = (0..<100).map { try! MachineIdentity(seed: key(UInt8($0))) }

  static func machine(_ number: Int) -> MachineIdentity { machines[number] }

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
}
