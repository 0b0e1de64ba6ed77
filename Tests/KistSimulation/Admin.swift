import KistCore
import KistReplica
import KistShared
import Synchronization

/// An admin, who works on one of the machines, and uses the note beside its copy.
final class Admin: Sendable {
  /// The machines that an admin may add while the vault is used; they never join.
  private static let additions = 11...99

  private let machine: Machine
  private let network: Network

  init(on machine: Machine, _ network: Network) {
    (self.machine, self.network) = (machine, network)
  }

  /// The admin in a process of its own, which can crash by itself.
  private func process() -> (admin: VaultAdmin, life: Life, note: [UInt8]?) {
    let life = Life()
    let cluster = network.cluster(of: machine, in: life) { nil }
    let admin = VaultAdmin(TestVault.admin, on: cluster, machine.options)
    return (admin, life, machine.disk.note)
  }

  /// Adds a machine; returns what is wrong with the answer, `nil` for nothing.
  func addMember() async -> (answer: String, problem: String?) {
    let (admin, life, note) = process()
    let new = TestVault.machine(network.scheduler.random(in: Self.additions))
    let answer: Result<SharedVault.Invitation, StorageError>
    do throws(StorageError) {
      let invitation = try await admin.add(.init(new.keys, .reader, name: "new"), note: note)
      answer = .success(invitation)
    } catch { answer = .failure(error) }
    let made = network.history.additions.withLock { $0.count { $0 === life } }
    return judge(answer, made, life)
  }

  /// Gives the vault a new key; returns what is wrong with the answer, `nil` for nothing.
  func beginGeneration(without removed: Machine?) async -> (answer: String, problem: String?) {
    let (admin, life, note) = process()
    let before = network.history.generations.count
    let answer: Result<[CredentialSummary], StorageError>
    do throws(StorageError) {
      let id = removed.map { TestVault.machine($0.number).id }
      answer = .success(try await admin.beginGeneration(without: id, note: note))
    } catch { answer = .failure(error) }
    return judge(answer, since: before, life)
  }

  /// Gives the vault a new key from the copy of the machine, which is not open.
  func putBack() async -> (answer: String, problem: String?) {
    let (admin, life, _) = process()
    let copy = machine.disk.copy(in: life) { () throws(StorageError) in
      try await self.network.pass(self.machine, life)
    }
    let before = network.history.generations.count
    let answer: Result<[CredentialSummary], StorageError>
    do throws(StorageError) {
      answer = .success(try await admin.beginGeneration(from: copy).credentials)
    } catch { answer = .failure(error) }
    return judge(answer, since: before, life)
  }

  private func judge(
    _ answer: Result<[CredentialSummary], StorageError>, since before: Int, _ life: Life
  ) -> (answer: String, problem: String?) {
    let made = network.history.generations[before...].filter { $0.life === life }
    var judged = judge(answer, made.count, life)
    if case .success(let listed) = answer, let made = made.first,
      listed.map({ $0.revision.sequence }) != made.sequences
    {
      judged.problem = "it lists other credentials than there were"
    }
    return judged
  }

  private func judge<Answer>(
    _ answer: Result<Answer, StorageError>, _ made: Int, _ life: Life
  ) -> (answer: String, problem: String?) {
    if life.isDead { return ("crashed", nil) }
    switch answer {
    case .success: return ("answered", made == 1 ? nil : "it was made \(made) times")
    case .failure(let error):
      let text = "\(error.code) \(error.outcome.map { "\($0)" } ?? "")"
      let isTrue = error.outcome == .unknown || made == 0 && error.outcome == .unchanged
      return (text, isTrue ? nil : "it was made \(made) times: \(error)")
    }
  }
}
