import Foundation
import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistTesting
import KistVault

@testable import KistSimulation

/// How much a cluster loses.
enum Loss: CaseIterable {
  case ofTwoChanges, ofAMember, ofAKey, ofEverything
}

/// A vault whose cluster loses changes, and the copies of its machines.
struct LossyVault {
  var vault: TestVault
  let directory: TemporaryDirectory

  init(on vault: TestVault, in directory: TemporaryDirectory) {
    (self.vault, self.directory) = (vault, directory)
  }

  /// Makes a vault with three machines, and loses changes.
  ///
  /// Machines 1 and 2 know the newest change, and machine 3 only what is kept.
  init(_ loss: Loss) async throws {
    self.init(on: try await TestVault(), in: try TemporaryDirectory())
    let machines = try await join(1, 2, 3)
    try await machines[0].credentials.save(.sample(secret: "old"))
    for machine in machines { try await machine.refresh() }
    await machines[2].close()
    let kept = vault.engine.position
    try await machines[1].credentials.save(.sample(secret: "lost"))
    try await machines[1].credentials.save(.sample(secret: "new"))
    if loss == .ofAMember {
      _ = try await admin(1).add(
        .init(TestVault.machine(20).keys, .reader, name: "new"), note: note(1))
    }
    for machine in machines[..<2] {
      try await machine.refresh()
      await machine.close()
    }
    if loss == .ofAKey || loss == .ofEverything {
      _ = try await admin(1).beginGeneration(without: nil, note: note(1))
      for machine in [1, 2] { try await renew(machine) }
    }
    vault.engine.rollBack(to: loss == .ofEverything ? ClusterPosition(0) : kept)
  }

  /// Returns the same vault and the same copies, which change apart from these.
  func duplicate() throws -> LossyVault {
    let other = try TemporaryDirectory()
    for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
      try FileManager.default.copyItem(atPath: directory(name), toPath: other(name))
    }
    var vault = vault
    vault.engine = vault.engine.forked()
    return LossyVault(on: vault, in: other)
  }

  func admin(_ machine: Int, on cluster: Cluster? = nil) -> VaultAdmin {
    VaultAdmin(
      TestVault.admin, on: cluster ?? vault.engine.cluster, ManualTime().options(machine))
  }

  func note(_ machine: Int) throws -> [UInt8]? {
    try EncryptedFile.note(ofCopy: TestVault.file(machine, in: directory).path)
  }

  func join(_ machines: Int...) async throws -> [SharedVault] {
    var joined: [SharedVault] = []
    for machine in machines { joined.append(try await vault.join(machine, in: directory)) }
    return joined
  }

  func open(_ machine: Int, options: ReplicaOptions? = nil) async throws -> SharedVault {
    try await vault.open(machine, in: directory, options: options)
  }

  /// Gives the vault a new key from the copy of a machine.
  @discardableResult
  func putBack(
    from machine: Int, on cluster: Cluster? = nil
  ) async throws -> SharedVault.Invitation {
    let copy = try await EncryptedFile.openCopy(TestVault.file(machine, in: directory))
    let begun: Result<SharedVault.Invitation, StorageError>
    do throws(StorageError) {
      begun = .success(
        try await admin(machine, on: cluster).beginGeneration(from: copy).invitation)
    } catch { begun = .failure(error) }
    await copy.storage.close()
    return try begun.get()
  }

  /// Reads everything for a copy with a new key; `nil` if the vault has no new key.
  func renewal(of machine: Int) async throws -> SharedVault.Renewal? {
    try await vault.renewal(of: machine, in: directory)
  }

  /// Replaces the copy of a machine by one with the new key.
  func renew(_ machine: Int) async throws {
    guard let renewal = try await renewal(of: machine) else {
      throw StorageError(.internal, "the vault has no new key")
    }
    try await EncryptedFile.replaceCopy(
      TestVault.file(machine, in: directory),
      with: .init(master: renewal.master, storeID: renewal.storeID, epoch: renewal.epoch),
      renewal.content, note: renewal.note)
  }

  /// Sets the note beside the copy of a machine, as an older one is there after a crash.
  func setNote(_ note: [UInt8], of machine: Int) async throws {
    let copy = try await EncryptedFile.openCopy(TestVault.file(machine, in: directory))
    try copy.setNote(note)
    await copy.storage.close()
  }
}

/// Returns the secret of the sample, once its machine has confirmed it.
func confirmedSecret(_ machine: SharedVault) async throws(StorageError) -> Secret {
  try await machine.credentials.load(LoadRequest(key: .sample, maxStale: 0)).secret
}
