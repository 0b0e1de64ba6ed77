import KistCluster
import KistCore
import KistReplica
import KistShared
import KistSodium
import KistTesting
import KistVault
import Synchronization

/// A machine of a simulation: its disk, and a vault that is open while the machine lives.
final class Machine: Sendable {
  let number: Int
  let disk = Disk()
  /// The request that the machine is making.
  let operation = Mutex<Operation?>(nil)
  private let cut = Atomic(false)
  /// How often the machine opened a copy that it had on its disk.
  let reopened = Atomic(0)
  /// How often the machine took a copy that it had made before the new key was in use.
  let completed = Atomic(0)
  private let removed = Atomic(false)
  /// Whether the note of the machine may be older than the newest change that the cluster had.
  let mayBeBehind = Atomic(false)
  private let running = Mutex<(vault: SharedVault, life: Life, following: Task<Void, Never>)?>(nil)
  /// What the last life made for a copy with the new key of the vault.
  private let prepared = Mutex<SharedVault.Renewal?>(nil)
  private let invitation: SharedVault.Invitation
  private let network: Network

  init(_ number: Int, _ vault: TestVault, _ network: Network) {
    (self.number, invitation, self.network) = (number, vault.invitation, network)
  }

  var isCut: Bool { cut.load(ordering: .relaxed) }
  func setCut(_ isCut: Bool) { cut.store(isCut, ordering: .relaxed) }

  /// Whether an answer to the machine said that it was removed from the vault.
  var isRemoved: Bool { removed.load(ordering: .relaxed) }

  /// The open vault, and the life in which it is open.
  var open: (vault: SharedVault, life: Life)? {
    running.withLock { running in running.map { ($0.vault, $0.life) } }
  }

  var options: ReplicaOptions {
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
    options.newMaster = { () throws(StorageError) in
      try GuardedKey(copying: scheduler.bytes(32).span)
    }
    return options
  }

  /// Joins the vault, or opens the copy on the disk; tries until it succeeds, or the machine is removed.
  func start() async {
    while true {
      let life = Life()
      do throws(StorageError) {
        let vault = try await openVault(in: life)
        try life.check()
        let following = network.scheduler.start { await vault.follow() }
        running.withLock { $0 = (vault, life, following) }
        return
      } catch {
        if error == .notMember { return removed.store(true, ordering: .relaxed) }
        await network.scheduler.sleep(.milliseconds(100))
      }
    }
  }

  private func openVault(in life: Life) async throws(StorageError) -> SharedVault {
    let cluster = network.cluster(of: self, in: life) { self.operation.withLock(\.self) }
    let pass = { @Sendable () async throws(StorageError) -> Void in
      try await self.network.pass(self, life)
    }
    var options = options
    options.whenGenerationBegins = { renew in self.reopen(life, renew) }
    options.makeNextCopy = { [disk] master, storeID, content throws(StorageError) in
      try await disk.makeNextCopy(master, storeID, content, in: life, pause: pass)
    }
    guard let note = disk.note else {
      return try await SharedVault.join(invitation, on: cluster, options) {
        master, storeID, epoch throws(StorageError) in
        try disk.makeCopy(master, storeID, epoch)
        return disk.copy(in: life, pause: pass)
      }
    }
    do throws(StorageError) {
      if let renewal = try await renewal(after: note, on: cluster, options) {
        try await pass()
        try disk.replaceCopy(renewal)
        if renewal.content == nil { completed.add(1, ordering: .relaxed) }
        try await pass()
      }
    } catch {
      // As in kistd: the copy with the old key still loads.
      if error == .notMember || life.isDead { throw error }
    }
    disk.discardNextCopy()
    let vault = try await SharedVault.open(disk.copy(in: life, pause: pass), on: cluster, options)
    reopened.add(1, ordering: .relaxed)
    return vault
  }

  /// Returns what the last life prepared, as kistd does; reads it from the cluster if there is nothing.
  private func renewal(
    after note: [UInt8], on cluster: Cluster, _ options: ReplicaOptions
  ) async throws(StorageError) -> SharedVault.Renewal? {
    let found = prepared.withLock { renewal in
      defer { renewal = nil }
      return renewal
    }
    if let found { return found }
    return try await SharedVault.renewal(
      after: note, on: cluster, options, copied: disk.copied)
  }

  /// Opens the vault again after the running request, because the vault has a new key.
  private func reopen(
    _ life: Life, _ renew: @escaping @Sendable () async throws(StorageError) -> SharedVault.Renewal?
  ) {
    network.scheduler.start {
      let renewal = try? await renew()
      while self.operation.withLock({ $0 != nil }) {
        await self.network.scheduler.sleep(.milliseconds(10))
      }
      guard await self.stop(life) else { return }
      self.prepared.withLock { $0 = renewal }
      await self.start()
    }
  }

  /// Ends this life, and starts the next one after a while.
  func crash(_ life: Life) {
    guard !life.isDead else { return }
    life.end()
    mayBeBehind.store(true, ordering: .relaxed)
    // A start that was interrupted tries again by itself.
    guard let last = take(life) else { return }
    last.following.cancel()
    network.scheduler.start {
      await self.network.scheduler.sleep(.milliseconds(self.network.scheduler.random(in: 0...3000)))
      await self.start()
    }
  }

  /// Closes the vault; returns `false` if it is not open in this life.
  @discardableResult
  func stop(_ life: Life) async -> Bool {
    guard let last = take(life) else { return false }
    last.following.cancel()
    await last.vault.close()
    return true
  }

  /// Takes the vault from the requests that follow, if it is open in this life.
  private func take(_ life: Life) -> (vault: SharedVault, following: Task<Void, Never>)? {
    running.withLock { running in
      guard let last = running, last.life === life else { return nil }
      running = nil
      return (last.vault, last.following)
    }
  }
}
