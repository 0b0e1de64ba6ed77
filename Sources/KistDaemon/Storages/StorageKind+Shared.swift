internal import ArgumentParser
internal import KistClient
internal import KistCluster
internal import KistClusterSocket
internal import KistCore
internal import KistFile
internal import KistReplica
internal import KistShared
internal import KistSystem
internal import KistVault
internal import KistWire
internal import Logging
internal import Synchronization

extension StorageKind {
  static let shared = StorageKind(
    rawValue: "shared", label: "shared vault", isExternal: false, isChosenAutomatically: false,
    identity: Identity(missing: .copyIsGone, replaced: .anotherVault),
    files: { Files(store: [$0.copyPath], read: [$0.machineKey]) },
    probe: { context in
      switch EncryptedFile.presence(at: context.options.copyPath) {
      case .absent: .open(hasCredentials: false)
      case .store(let id, let hasCredentials): .open(hasCredentials: hasCredentials, id: id)
      case .unreadable(let error): .unusable(error)
      }
    },
    check: { context throws(StorageError) in
      guard fileStatus(of: context.options.copyPath) != nil else { throw .notJoined }
      _ = try EncryptedFile.machineKey(at: context.options.machineKey)
      try EncryptedFile.checkPlaces(context.options.ofCopy)
      try EncryptedFile.checkOpening(context.options.ofCopy)
    },
    open: openShared,
    served: { storage, _ in storage },
    countLaterData: { context throws(StorageError) in
      try EncryptedFile.examine(
        path: context.options.copyPath, keySource: context.options.ofCopy.keySource
      ).extended
    },
    whenLocked: { error, _, _ in error })
}

/// Opens the copy of the vault, and begins to follow the cluster, which may be out of reach.
private func openShared(
  _ context: StorageContext, _ pin: Pin?
) async throws(StorageError) -> OpenStorage {
  let options = context.options
  guard pin?.kind == .shared || fileStatus(of: options.copyPath) != nil else { throw .notJoined }
  let cluster = try options.cluster(context.environment)
  var machine = try ReplicaOptions(machineKey: options.machineKey)
  machine.afterConfirmation = ConfirmationLog(context.logger).note(_:)
  // Every confirmation finds the new key, but the vault is opened again only once.
  let isOutdated = Atomic(false)
  let (number, prepared) = context.renewals.begin()
  machine.whenGenerationBegins = { [renewals = context.renewals] renew in
    guard !isOutdated.exchange(true, ordering: .relaxed) else { return }
    Task {
      await sleepUnwatched(for: renewals.delay)
      // Made while the old copy still loads. If this fails, the next opening tries again, and logs it.
      renewals.prepare(try? await renew(), by: number)
      context.whenOutdated()
    }
  }
  machine.makeNextCopy = { master, storeID, content throws(StorageError) in
    try await EncryptedFile.makeNextCopy(
      options.ofCopy, of: .init(master: master, storeID: storeID, epoch: content.state.epoch),
      content)
  }
  var file = options.ofCopy
  file.storeID = pin?.kind == .shared ? pin?.storeID : nil
  file.deadline = options.deadline
  if let id = try await renewCopy(file, with: prepared, pin, context, on: cluster, machine) {
    file.storeID = id
  }
  let copy = try await EncryptedFile.openCopy(file)
  let vault: SharedVault
  do throws(StorageError) {
    vault = try await SharedVault.open(copy, on: cluster, machine)
  } catch {
    await copy.storage.close()
    throw error
  }
  // It ends soon after the vault is closed.
  Task { await vault.follow() }
  return vault.storage(over: copy.storage, keyFile: options.machineKey)
}

/// Replaces the copy if the vault has a new key; returns the id of the new copy.
///
/// If the cluster cannot be reached, and nothing is prepared, the copy stays. Throws `denied` if this machine was removed.
private func renewCopy(
  _ file: EncryptedFile.Options, with prepared: SharedVault.Renewal?, _ pin: Pin?,
  _ context: StorageContext, on cluster: Cluster, _ machine: ReplicaOptions
) async throws(StorageError) -> String? {
  let renewal: SharedVault.Renewal
  do throws(StorageError) {
    if let prepared {
      renewal = prepared
    } else {
      // The copy and its note may be of two keys, if kistd was killed between them.
      let note = try EncryptedFile.note(ofCopy: file.path)
      let found = try await SharedVault.renewal(after: note, on: cluster, machine) {
        storeID throws(StorageError) in
        try await EncryptedFile.state(ofCopy: file, storeID: storeID)
      }
      guard let found else {
        context.renewals.succeed()
        return nil
      }
      renewal = found
    }
  } catch {
    if error == .notMember { throw error }
    // Not logged: the open vault has the problem in its status.
    _ = context.renewals.fail(error)
    return nil
  }
  let id = renewal.storeID.map(\.hexadecimal).joined()
  do throws(StorageError) {
    if let pin, pin.kind == .shared {
      try PinFile(path: context.options.pinFile).write(
        Pin(kind: .shared, storeID: pin.storeID, nextStoreID: id), insteadOf: pin)
    }
    try await EncryptedFile.replaceCopy(
      file,
      with: .init(
        master: renewal.master, storeID: renewal.storeID, epoch: renewal.epoch),
      renewal.content, note: renewal.note)
    context.renewals.succeed()
    return id
  } catch {
    guard error.outcome != .unknown else { throw error }
    if context.renewals.fail(error) {
      context.logger.warning(
        "cannot make a copy with the new key of the vault; the old one still loads, and kistd tries again",
        metadata: ["reason": "\(error)"])
    }
    return nil
  }
}

extension SharedVault {
  /// Returns the vault as a storage; `copy` is the open copy of it.
  func storage(over copy: OpenStorage, keyFile: String) -> OpenStorage {
    let status: @Sendable () async throws(StorageError) -> StorageStatus = {
      () throws(StorageError) in
      let copied = try await copy.access.status()
      let known = self.status()
      return StorageStatus(
        storage: StorageKind.shared.rawValue, path: copied.path, isLocked: false,
        reopensAtRestart: true,
        durability: .quorum,
        keyProtection:
          "the key file of this machine, \(keyFile): a program that reads it and the copy of the "
          + "vault gets all secrets; the people who run the cluster see how many credentials there are, "
          + "how large they are, and which machine changes one when, but no names and no secrets",
        keysInRAM: copied.keysInRAM, integrity: copied.integrity,
        problem: known.problem ?? copied.problem, count: Int(clamping: known.count),
        vault: SharedVaultStatus(known, at: .now()))
    }
    var storage = OpenStorage(
      credentials: credentials,
      // It cannot be locked, because the key file is always there to open it again.
      access: StorageAccess(
        status: status, lock: status, unlock: { _ throws(StorageError) in try await status() }),
      id: copy.id, durability: .quorum, close: close)
    storage.backups = backups
    storage.watch = watch
    storage.nameSeal = copy.nameSeal
    storage.releaseMemory = copy.releaseMemory
    return storage
  }
}

extension SharedVaultStatus {
  fileprivate init(_ known: SharedVault.Status, at now: Timestamp) {
    let seconds = now.secondsSinceEpoch - known.asOf.secondsSinceEpoch
    self.init(
      members: known.members, generation: Int(known.generation), head: known.head,
      confirmedAgo: Int(max(0, seconds)), isCopyComplete: known.isCopyComplete,
      warnings: known.warnings)
  }
}

struct VaultOptions: ParsableArguments {
  @Option(
    help: .value(
      "path",
      "The file with the key of this machine for shared vaults; by default $XDG_STATE_HOME/kist/machine.key."
    ))
  var machineKey: String?

  @Option(
    help: .value(
      "path",
      "The socket of the adapter for the cluster of a shared vault; by default $XDG_RUNTIME_DIR/kist/cluster.sock."
    ))
  var cluster: String?
}

extension Options {
  /// The path of this machine's copy of a shared vault.
  var copyPath: String { dataDirectory + "/vault.db" }

  var ofCopy: EncryptedFile.Options {
    var file = EncryptedFile.Options(path: copyPath, keySource: .keyFile(path: machineKey))
    file.sleep = sleepUnwatched
    return file
  }

  /// Returns the cluster at the socket of the options, or where an adapter usually listens.
  func cluster(_ environment: (String) -> String?) throws(StorageError) -> Cluster {
    if let clusterSocket {
      return .remote(socketPath: try SocketLocation(path: clusterSocket).path)
    }
    // The socket of kistd may be in a directory that is only for one command.
    let usual = try SocketLocation.usual(environment: environment)
    return .remote(
      socketPath: try SocketLocation(path: directory(of: usual.path) + "/cluster.sock").path)
  }
}

extension ReplicaOptions {
  /// Reads the key of this machine; throws where it is missing or others could have read it.
  init(machineKey: String) throws(StorageError) {
    self.init(machine: try MachineIdentity(seed: EncryptedFile.machineKey(at: machineKey)))
    sleep = sleepUnwatched
  }
}

extension StorageError {
  static let notJoined = StorageError(
    .unavailable, "this machine has not joined a shared vault",
    hint: "make a vault with `kistd vault init`, or join one with `kistd vault join`")

  fileprivate static let copyIsGone = StorageError(
    .unavailable, "this machine's copy of the shared vault is missing",
    hint:
      "bring back the disk that it is on; or join the vault again with the line from its admin: "
      + "`kistd vault join LINE`")

  fileprivate static let anotherVault = StorageError(
    .unavailable, "this machine's copy of a shared vault is the copy of another one",
    hint: "nothing was changed; put the right copy back, or open this one with --data")
}
