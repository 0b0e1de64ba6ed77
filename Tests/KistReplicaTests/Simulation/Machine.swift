import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization

/// A machine of a simulation: its disk, and a vault that is open while the machine lives.
final class Machine: Sendable {
  let number: Int
  let disk: Disk
  /// The request that the machine is making.
  let operation = Mutex<Operation?>(nil)
  private let cut = Atomic(false)
  /// How often the machine opened a copy that it had on its disk.
  let reopened = Atomic(0)
  private let running = Mutex<(vault: SharedVault, life: Life, following: Task<Void, Never>)?>(nil)
  private let invitation: SharedVault.Invitation
  private let network: Network

  init(_ number: Int, _ vault: TestVault, _ network: Network) {
    (self.number, invitation, self.network) = (number, vault.invitation, network)
    disk = Disk(vault.keys)
  }

  var isCut: Bool { cut.load(ordering: .relaxed) }
  func setCut(_ isCut: Bool) { cut.store(isCut, ordering: .relaxed) }

  /// The open vault, and the life in which it is open.
  var open: (vault: SharedVault, life: Life)? {
    running.withLock { running in running.map { ($0.vault, $0.life) } }
  }

  private var options: ReplicaOptions {
    let scheduler = network.scheduler
    var options = ReplicaOptions(machine: TestVault.machine(number))
    options.deadline = .seconds(2)
    options.trustsAbsenceFor = Check.trustsAbsenceFor
    options.elapsed = { scheduler.time }
    options.now = {
      Timestamp.sample.advanced(bySeconds: scheduler.time.components.seconds)!
    }
    options.sleep = { await scheduler.sleep($0) }
    options.random = { scheduler.bytes($0) }
    return options
  }

  /// Joins the vault, or opens the copy on the disk; tries until it succeeds.
  func start() async {
    while true {
      let life = Life()
      do throws(StorageError) {
        let cluster = network.cluster(of: self, in: life)
        let vault: SharedVault
        if disk.state.withLock({ $0.note }) != nil {
          vault = try await SharedVault.open(copy(Epoch(9), life), on: cluster, options)
          reopened.add(1, ordering: .relaxed)
        } else {
          vault = try await SharedVault.join(invitation, on: cluster, options) { _, _, epoch in
            copy(epoch, life)
          }
        }
        try life.check()
        let following = network.scheduler.start { await vault.follow() }
        running.withLock { $0 = (vault, life, following) }
        return
      } catch { await network.scheduler.sleep(.milliseconds(100)) }
    }
  }

  private func copy(_ epoch: Epoch, _ life: Life) -> LocalCopy {
    disk.copy(in: life, epoch: epoch) { () throws(StorageError) in
      try await self.network.pass(self, life)
    }
  }

  /// Ends this life, and starts the next one after a while.
  func crash(_ life: Life) {
    guard !life.isDead else { return }
    life.end()
    let wasRunning = running.withLock { running in
      guard let last = running, last.life === life else { return false }
      last.following.cancel()
      running = nil
      return true
    }
    // A start that was interrupted tries again by itself.
    guard wasRunning else { return }
    network.scheduler.start {
      await self.network.scheduler.sleep(.milliseconds(self.network.scheduler.random(in: 0...3000)))
      await self.start()
    }
  }

  func stop() async {
    guard
      let last = running.withLock({ running in
        defer { running = nil }
        return running
      })
    else { return }
    last.following.cancel()
    await last.vault.close()
  }
}
