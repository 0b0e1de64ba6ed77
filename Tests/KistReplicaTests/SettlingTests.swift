import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `A change of a shared vault` {
  private let directory = try! TemporaryDirectory()
  private let time = ManualTime()

  @Test func `is made although the cluster says that it changed nothing`() async throws {
    let vault = try await TestVault()
    let isFirst = Atomic(true)
    let cluster = vault.committing { commit throws(StorageError) in
      let reply = try await vault.engine.cluster.commit(commit)
      guard isFirst.exchange(false, ordering: .relaxed) else { return reply }
      throw StorageError(.busy, "too many requests", outcome: .unchanged)
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    #expect(try await machine.credentials.save(.sample()).revision.sequence == 1)
    await machine.close()
  }

  @Test func `that the cluster refuses is not tried again, and is not in the history`() async throws
  {
    let vault = try await TestVault()
    let cluster = vault.committing { commit throws(StorageError) in
      guard commit.puts.count == 2 else {
        throw StorageError(.full, "no space", outcome: .unchanged)
      }
      return try await vault.engine.cluster.commit(commit)
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    let before = vault.engine.position.number
    let error = await expect(.full) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    await expect(.notFound) {
      try await machine.credentials.load(LoadRequest(key: .sample, maxStale: 0))
    }
    #expect(vault.engine.position.number == before + 1)
    await machine.close()
  }

  @Test(arguments: [StorageError.Code.full, .denied])
  func `that the cluster refuses, with all others, is soon answered`(
    code: StorageError.Code
  ) async throws {
    let vault = try await TestVault()
    let commits = Atomic(0)
    let cluster = vault.committing { _ throws(StorageError) in
      commits.add(1, ordering: .relaxed)
      throw StorageError(code, "refused", outcome: .unchanged)
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    // No other change shows that this one will not be made.
    let error = await expect(code) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unknown && commits.load(ordering: .relaxed) == 2)
    await machine.close()
  }

  @Test func `whose outcome is unknown has no hint that nothing was changed`() async throws {
    let vault = try await TestVault()
    let isCut = Atomic(false)
    var cluster = vault.committing { commit throws(StorageError) in
      isCut.store(true, ordering: .relaxed)
      return try await vault.engine.cluster.commit(commit)
    }
    cluster.head = { generation throws(StorageError) in
      if isCut.load(ordering: .relaxed) {
        throw StorageError(.denied, "no access", hint: "nothing was changed")
      }
      return try await vault.engine.cluster.head(generation)
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    let error = await expect(.denied) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unknown && error?.hint?.contains("nothing was changed") == false)
    await machine.close()
  }

  @Test func `is answered by the log, although the cluster hides its row`() async throws {
    let vault = try await TestVault()
    var cluster = vault.engine.cluster.altering { name, bytes in
      if case .row = name { nil } else { bytes }
    }
    cluster.commit = { commit throws(StorageError) in
      _ = try await vault.engine.cluster.commit(commit)
      throw .noAnswer
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    #expect(try await machine.credentials.save(.sample()).revision.sequence == 1)
    // The copy does not have it, so the machine does not say that it is absent.
    await expect(.corrupt) { try await machine.credentials.load(.sample) }
    #expect(machine.status().problem?.code == .corrupt)
    await machine.close()
  }

  @Test func `is answered by the log, although a new generation has begun since then`()
    async throws
  {
    let vault = try await TestVault()
    let cluster = vault.committing { commit throws(StorageError) in
      _ = try await vault.engine.cluster.commit(commit)
      do { try await vault.beginGeneration() } catch { throw .internal("no new generation") }
      throw .noAnswer
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    #expect(try await machine.credentials.save(.sample()).revision.sequence == 1)
    await machine.close()
  }

  @Test func `is not sent after the end of the membership`() async throws {
    let end = Timestamp.sample
    let vault = try await TestVault(until: end)
    // The membership ends between the check of the role and the commit.
    let reads = Atomic(0)
    let now = { @Sendable () -> Timestamp in
      let isOver = reads.add(1, ordering: .relaxed).oldValue >= 2
      return end.advanced(bySeconds: isOver ? 1 : 0)!
    }
    let machine = try await vault.join(1, in: directory, options: time.options(1, now: now))
    let before = vault.engine.position
    let error = await expect(.denied) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged && vault.engine.position == before)
    await machine.close()
  }

  @Test func `is not settled by a machine whose membership has ended`() async throws {
    let clock = ManualClock()
    let commits = Atomic(0)
    let vault = try await TestVault(until: clock.now())
    let cluster = vault.committing { commit throws(StorageError) in
      commits.add(1, ordering: .relaxed)
      clock.advance(bySeconds: 1)
      throw .noAnswer
    }
    let machine = try await vault.join(
      1, in: directory, on: cluster, options: time.options(1, now: clock.now))
    let error = await expect(.unavailable) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unknown && commits.load(ordering: .relaxed) == 1)
    await machine.close()
  }

  @Test func `is settled once, although its deadline has passed`() async throws {
    let vault = try await TestVault()
    let isFirst = Atomic(true)
    let cluster = vault.committing { [time] commit throws(StorageError) in
      guard isFirst.exchange(false, ordering: .relaxed) else {
        return try await vault.engine.cluster.commit(commit)
      }
      time.pass(.seconds(11))
      throw .noAnswer
    }
    let machine = try await vault.join(1, in: directory, on: cluster, options: time.options(1))
    let error = await expect(.busy) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    await machine.close()
  }

  @Test func `is not begun after its deadline`() async throws {
    let vault = try await TestVault()
    let isLate = Atomic(false)
    var options = time.options(1)
    // Each look at the clock takes longer than a change may take.
    options.elapsed = { [time] in
      if isLate.load(ordering: .relaxed) { time.pass(.seconds(11)) }
      return time.options(1).elapsed()
    }
    let machine = try await vault.join(1, in: directory, options: options)
    try await machine.credentials.save(.sample())
    let before = vault.engine.position
    isLate.store(true, ordering: .relaxed)
    let error = await expect(.unavailable) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged && vault.engine.position == before)
    await machine.close()
  }
}
