import KistCore
import KistSodium
import KistVault
import Testing

@testable import KistDaemon
@testable import KistReplica

@Suite(.timeLimit(.minutes(1))) struct `The attempts to make a new copy of a vault` {
  private let full = StorageError(.full, "no space is left")
  private let away = StorageError(.unavailable, "the cluster cannot be reached")

  @Test func `are logged at the first failure, and then at growing distances`() {
    let renewals = CopyRenewals()
    let logged = (1...40).filter { _ in renewals.fail(full) }
    #expect(logged == [1, 2, 4, 8, 16, 32])
  }

  @Test func `are logged again when the reason changes`() {
    let renewals = CopyRenewals()
    #expect((0..<3).map { _ in renewals.fail(full) } == [true, true, false])
    #expect(renewals.fail(away))
    #expect(renewals.fail(full))
  }

  @Test func `wait twice as long after each failure, up to five minutes`() {
    let renewals = CopyRenewals()
    #expect(renewals.delay == .zero)
    let delays = (0..<11).map { _ in
      _ = renewals.fail(full)
      return renewals.delay
    }
    #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map { .seconds($0) })
    renewals.succeed()
    #expect(renewals.delay == .zero)
    #expect(renewals.fail(full))
  }

  @Test func `use what the opening directly before has prepared, once`() throws {
    let renewals = CopyRenewals()
    let renewal = SharedVault.Renewal(
      master: try .random(), storeID: [1], epoch: Epoch(1), content: nil, note: [])
    let first = renewals.begin()
    #expect(first.prepared == nil)
    renewals.prepare(renewal, by: first.number)
    #expect(renewals.begin().prepared?.storeID == [1])
    #expect(renewals.begin().prepared == nil)
    // An opening between the two made a newer copy.
    renewals.prepare(renewal, by: first.number)
    #expect(renewals.begin().prepared == nil)
  }
}
