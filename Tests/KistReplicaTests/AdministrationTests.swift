import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistSodium
import KistTesting
import KistVault
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The members of a shared vault` {
  private let directory = try! TemporaryDirectory()
  private let engine = MemoryEngine()

  @Test func `are the machine that founds it, and those that an admin adds`() async throws {
    let first = try await founded()
    try await first.credentials.save(.sample(secret: "one"))
    let invitation = try await first.add(newMember(2, .writer), TestVault.admin)
    let second = try await join(2, invitation)
    #expect(try await second.credentials.load(.sample).secret == Secret(utf8: "one"))
    try await second.credentials.save(.sample(secret: "two"))
    #expect(try await first.loadFresh(LoadRequest(key: .sample)).secret == Secret(utf8: "two"))
    let members = try first.members()
    #expect(members.map(\.name) == ["machine 1", "machine 2"])
    #expect(members.map(\.id) == [1, 2].map { TestVault.machine($0).id })
    for machine in [first, second] { await machine.close() }
  }

  @Test func `keep their copies when another one is added`() async throws {
    let first = try await founded()
    let second = try await join(2, first.add(newMember(2, .writer), TestVault.admin))
    _ = try await first.add(newMember(3, .writer), TestVault.admin)
    try await second.credentials.save(.sample(secret: "two"))
    #expect(try second.members().count == 3 && second.status().roster == 3)
    await second.close()
    let again = try await SharedVault.open(
      copy(2), on: engine.cluster, TestVault.options(2))
    #expect(try again.members().count == 3)
    for machine in [first, again] { await machine.close() }
  }

  @Test func `change their roles when they are added again`() async throws {
    let first = try await founded()
    let second = try await join(2, first.add(newMember(2, .reader), TestVault.admin))
    await expect(.denied) { try await second.credentials.save(.sample(secret: "two")) }
    _ = try await first.add(newMember(2, .writer), TestVault.admin)
    try await second.credentials.save(.sample(secret: "two"))
    #expect(try first.members().map(\.role) == [.writer, .writer])
    for machine in [first, second] { await machine.close() }
  }

  @Test func `are added only with the key of an admin, by a writer`() async throws {
    let first = try await founded()
    let stranger = try SigningKey(seed: key(0xAE))
    await expect(.denied) { try await first.add(newMember(2, .writer), stranger) }
    let second = try await join(2, first.add(newMember(2, .reader), TestVault.admin))
    await expect(.denied) { try await second.add(newMember(3, .writer), TestVault.admin) }
    await expect(.badRequest) {
      var member = newMember(3, .writer)
      member.name = "a\nb"
      return try await first.add(member, TestVault.admin)
    }
    #expect(try first.members().count == 2)
    for machine in [first, second] { await machine.close() }
  }

  @Test func `cannot be those of another vault in the same place`() async throws {
    let first = try await founded()
    await expect(.conflict) {
      try await SharedVault.found(
        on: engine.cluster, admin: TestVault.admin, name: "machine 2", TestVault.options(2))
    }
    try await first.credentials.save(.sample(secret: "one"))
    await first.close()
  }

  @Test func `do not join before they are added`() async throws {
    let invitation = try await SharedVault.found(
      on: engine.cluster, admin: TestVault.admin, name: "machine 1", TestVault.options(1))
    await expect(.denied) { try await join(2, invitation) }
  }

  private func founded() async throws -> SharedVault {
    let invitation = try await SharedVault.found(
      on: engine.cluster, admin: TestVault.admin, name: "machine 1", TestVault.options(1))
    return try await join(1, invitation)
  }

  private func newMember(_ number: Int, _ role: Member.Role) -> NewMember {
    NewMember(keys: TestVault.machine(number).keys, name: "machine \(number)", role: role)
  }

  private func join(
    _ machine: Int, _ invitation: SharedVault.Invitation
  ) async throws -> SharedVault {
    try await TestVault.join(machine, invitation, in: directory, on: engine.cluster)
  }

  private func copy(_ machine: Int) async throws -> LocalCopy {
    try await EncryptedFile.openCopy(TestVault.file(machine, in: directory))
  }
}
