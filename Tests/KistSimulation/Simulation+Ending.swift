import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization

extension Simulation {
  /// After the faults, every machine has exactly what the history says.
  func finish(_ machines: [Machine], _ network: Network, _ vault: TestVault) async {
    let history = network.history
    for machine in machines {
      // A machine makes a new copy by itself.
      let newest = history.generations.last!.keys.generation
      for _ in 0..<100 where !machine.isRemoved && machine.open?.vault.status().generation != newest
      {
        await scheduler.sleep(.milliseconds(100))
      }
      if mustJoinAgain(machine) {
        counts.withLock { $0["joined again", default: 0] += 1 }
        if let life = machine.open?.life { await machine.stop(life) }
        await finishNewcomer(machine.number, network, vault)
        continue
      }
      guard machine.isRemoved || machine.open?.vault.status().generation == newest else {
        violation(
          "machine \(machine.number) does not get the new key: "
            + "\(String(describing: machine.open?.vault.status().problem))")
        if let life = machine.open?.life { await machine.stop(life) }
        continue
      }
      guard let (vault, life) = machine.open else { continue }
      await check(vault, history, "machine \(machine.number)")
      let reopened = machine.reopened.load(ordering: .relaxed)
      let completed = machine.completed.load(ordering: .relaxed)
      counts.withLock { counts in
        counts["reopened", default: 0] += reopened
        counts["copy made ahead", default: 0] += completed
      }
      await machine.stop(life)
    }
  }

  /// A removed machine, and only that one, reads nothing that was saved after its removal.
  func finishRemoved(_ machines: [Machine], _ network: Network, _ vault: TestVault) async {
    let generations = network.history.generations
    var rows: [(generation: UInt32, row: ListPage.Row)] = []
    for generation in generations.map(\.keys.generation) {
      for byte in UInt8.min ... .max {
        let reply = try? await vault.engine.cluster.list(
          ListRequest(generation: generation, firstByte: byte))
        guard case .page(let page) = reply else { continue }
        rows += page.rows.map { (generation, $0) }
      }
    }
    for machine in machines {
      let id = TestVault.machine(machine.number).id
      let keys = generations.filter { $0.members.contains(id) }.map(\.keys)
      let end = generations.first { !$0.members.contains(id) }?.sequence
      if machine.isRemoved != (end != nil) {
        violation("machine \(machine.number) has learnt \(machine.isRemoved) about its removal")
      }
      guard let end else { continue }
      counts.withLock { $0["removed", default: 0] += 1 }
      for (generation, row) in rows {
        for keys in keys {
          guard let opened = try? keys.openRow(row.bytes, key: row.key) else { continue }
          if opened.identity.sequence >= end {
            violation("removed machine \(machine.number) can read a row of \(generation)")
          }
        }
      }
      let renewal = await outcome { () throws(StorageError) in
        try await SharedVault.renewal(
          after: machine.disk.note, on: vault.engine.cluster, machine.options,
          copied: machine.disk.copied)
      }
      // After a loss, the roster without it may be missing.
      if case .success(let renewal) = renewal, renewal != nil || !losesChanges {
        violation("removed machine \(machine.number) can renew its copy")
      }
    }
  }

  /// A machine that joins has everything.
  func finishNewcomer(_ number: Int, _ network: Network, _ vault: TestVault) async {
    let newcomer = Machine(number, vault, network)
    await newcomer.start()
    guard let (opened, life) = newcomer.open else { return violation("no machine can join") }
    await check(opened, network.history, "a new machine")
    await newcomer.stop(life)
  }

  private func check(_ vault: SharedVault, _ history: History, _ name: String) async {
    for key in History.names {
      let last = history.sequences(of: key, from: .max, to: .max).first!
      let loaded = await outcome { () throws(StorageError) in
        try await vault.credentials.load(LoadRequest(key: key, maxStale: 0))
      }
      switch loaded {
      case .success(let credential):
        if credential.summary.revision.sequence != last
          || credential.secret != history.secret(of: key, at: last)
        {
          violation(
            "\(name) ends with \(credential.summary.revision.sequence ?? 0), "
              + "not with \(last); now it is \(history.sequences(of: key, from: .max, to: .max))")
        }
      case .failure(let error):
        if error.code != .notFound || last != 0 {
          violation("\(name) ends with \(error), not with change \(last)")
        }
      }
    }
  }
}
