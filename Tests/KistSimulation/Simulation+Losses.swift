import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization

extension Simulation {
  /// The cluster loses its newest changes, and an admin puts the vault back from the newest copy.
  ///
  /// Meanwhile, every fault happens again, and the machines go on.
  func loseChanges(_ machines: [Machine], _ network: Network, _ faults: Faults) async {
    await makeLastChanges(machines, network)
    let engine = network.engine
    let last = Int(engine.position.number)
    let kept = scheduler.happens(oneIn: 4) ? 0 : scheduler.random(in: 0...last)
    engine.rollBack(to: ClusterPosition(UInt64(kept)))
    note("the cluster keeps \(kept) commits")
    let newest = machines.filter { !$0.isRemoved }.max { sequence($0) < sequence($1) }!
    let known = sequence(newest)
    for machine in machines {
      machine.mayBeBehind.store(sequence(machine) + 1 < known, ordering: .relaxed)
    }
    await newest.stop(newest.open!.life)
    network.faults.withLock { $0 = faults }
    await withTaskGroup { group in
      for machine in machines {
        group.addTask { for _ in 0..<6 { await self.request(of: machine, network.history) } }
      }
      group.addTask {
        let generations = network.history.generations.count
        repeat {
          self.report("new key from a copy", by: newest, await Admin(on: newest, network).putBack())
        } while network.history.generations.count == generations
        for machine in machines { machine.setCut(false) }
        await newest.start()
      }
    }
    network.faults.withLock { $0 = .none }
    // A lost commit is made up to 4 seconds later.
    await scheduler.sleep(.seconds(5))
  }

  /// All machines get the newest state; then some are cut off and miss a few changes.
  private func makeLastChanges(_ machines: [Machine], _ network: Network) async {
    for machine in machines {
      machine.setCut(false)
      await wait(for: machine, network.history)
    }
    // A machine that is cut off cannot change the older state, so there is one history.
    if let last = machines.last(where: { !$0.isRemoved }), sequence(last) > 0,
      machines.count(where: { !$0.isRemoved }) > 1
    {
      last.setCut(true)
    }
    for _ in 0..<scheduler.random(in: 0...3) {
      for machine in machines { await request(of: machine, network.history) }
    }
    await scheduler.sleep(.seconds(5))
  }

  private func wait(for machine: Machine, _ history: History) async {
    let newest = history.generations.last!.keys.generation
    for _ in 0..<100 where !machine.isRemoved && machine.open?.vault.status().generation != newest {
      await scheduler.sleep(.milliseconds(100))
    }
  }

  private func sequence(_ machine: Machine) -> UInt64 {
    machine.open?.vault.status().head.sequence ?? 0
  }

  /// Whether a machine does not know the change before the loss with which the others go on.
  func mustJoinAgain(_ machine: Machine) -> Bool {
    machine.mayBeBehind.load(ordering: .relaxed)
      && machine.open?.vault.status().problem?.code == .corrupt
  }

  /// Returns what a machine joins with.
  func newestInvitation(_ vault: TestVault) async -> SharedVault.Invitation {
    var invitation = vault.invitation
    for number in UInt64(1)...200 {
      let found = try? await vault.engine.cluster.records([.roster(number: number)])
      if found != [nil] { invitation.roster = number }
    }
    return invitation
  }
}
