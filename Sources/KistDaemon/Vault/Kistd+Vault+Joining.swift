internal import Glibc
internal import KistCluster
internal import KistCore
internal import KistFile
internal import KistReplica
internal import KistShared
internal import KistSodium
internal import KistSystem
internal import KistVault
internal import Logging

/// Adds a recovery key to the vault: a member and an admin whose seed is only on paper.
func addRecoveryKey(
  _ command: VaultCommand, _ options: Options, _ environment: (String) -> String?
) async throws(StorageError) {
  let name = try command.required(command.name, "--name")
  let note = try noteOfVault(options)
  let admin = try command.openAdmin(options, environment)
  let seed = try GuardedKey.random()
  let invitation = try await admin.add(
    VaultAdmin.NewMember(
      try MachineIdentity(seed: seed).keys, .writer, name: name, isAdmin: true), note: note)
  StandardError().write(
    "write both lines on paper; kist cannot print the second one again", level: .notice)
  var text = WipedBytes()
  text.append(utf8: invitation.word + "\n")
  RecoveryKey.text(of: seed).withBytes { text.append($0) }
  text.append(UInt8(ascii: "\n"))
  let failure = printSecret(Secret(text))
  guard failure == 0 else {
    throw StorageError(
      .unavailable, "cannot print the recovery key: \(systemText(of: failure))",
      hint: "the vault has the new member; remove it with `kistd vault remove`, and try again")
  }
}

/// Makes another admin key, and takes the former one out of the vault.
func replaceAdminKey(
  _ command: VaultCommand, _ options: Options, _ environment: (String) -> String?
) async throws(StorageError) {
  let note = try noteOfVault(options)
  let file = AdminKeyFile(path: try command.required(command.word, "FILE"))
  try refuseOneDescriptor(
    for: try descriptor(command.passphraseFd ?? "0", of: "--passphrase-fd"),
    and: try descriptor(command.newPassphraseFd ?? "0", of: "--new-passphrase-fd"))
  let admin = try command.openAdmin(options, environment)
  let key = try command.openOrMake(file, options)
  let machines: [SharedVault.Machine]
  do throws(StorageError) {
    machines = try await admin.replaceAdminKey(by: key.publicKey, note: note)
  } catch {
    if [.denied, .badRequest].contains(error.code) { throw error }
    // The vault may have the new key, so its file is never removed.
    var error = error
    error.hint =
      "keep \(file.path) and the former key; run the same command again, which completes the change"
    throw error
  }
  printLine("the admin key of the vault is now \(file.path); the former one is not valid any more")
  printLine("the machines of the vault:")
  let identity = try ReplicaOptions(machineKey: options.machineKey).machine
  for machine in machines { printLine(line(of: machine, on: identity)) }
}

/// Adds this machine to a vault with a recovery key; returns what it joins with.
func addThisMachine(
  _ command: VaultCommand, _ invitation: SharedVault.Invitation, _ options: Options,
  _ environment: (String) -> String?
) async throws(StorageError) -> SharedVault.Invitation {
  let name = try command.required(command.name, "--name")
  // The copy may be of an earlier membership, with which joining would fail after the machine was added.
  guard fileStatus(ofLink: options.copyPath) == nil else {
    throw .copyExists(
      at: options.copyPath,
      "if this machine is a member, start kistd; if it was removed, or its key file is lost, "
        + StorageError.movingAway(options.copyPath))
  }
  let cluster = try options.cluster(environment)
  let recovery = try command.openRecoveryKey()
  _ = try EncryptedFile.newMachineKey(at: options.machineKey)
  let machine = try ReplicaOptions(machineKey: options.machineKey).machine
  var replica = ReplicaOptions(machine: recovery)
  replica.sleep = sleepUnwatched
  return try await VaultAdmin(recovery.signingKey, on: cluster, replica).add(
    VaultAdmin.NewMember(machine.keys, .writer, name: name), after: invitation)
}

func makeVault(
  _ command: VaultCommand, _ options: Options,
  _ environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) {
  let name = try command.required(command.name, "--name")
  guard fileStatus(ofLink: options.copyPath) == nil else {
    throw .copyExists(at: options.copyPath)
  }
  try checkThatNoKistdRuns(options)
  let cluster = try options.cluster(environment)
  // This comes first, so that the user does not type a passphrase in vain, and no key is made.
  try await SharedVault.requireNone(on: cluster)
  let admin = try command.openAdminKey(isNew: true, options)
  _ = try EncryptedFile.newMachineKey(at: options.machineKey)
  let replica = try ReplicaOptions(machineKey: options.machineKey)
  let invitation = try await VaultAdmin(admin, on: cluster, replica).makeVault(
    nameOfThisMachine: name)
  // Printed first: with this line, the machine can join even if joining fails now.
  printLine(invitation.word)
  try await join(invitation, options, environment)
}

/// Makes the copy of a vault, and records that credentials are kept in it, unless there are others.
func join(
  _ invitation: SharedVault.Invitation, _ options: Options,
  _ environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) {
  let replica = try ReplicaOptions(machineKey: options.machineKey)
  let cluster = try options.cluster(environment)
  let made = MadeCopy()
  let vault = try await SharedVault.join(invitation, on: cluster, replica) {
    master, storeID, epoch throws(StorageError) in
    do throws(StorageError) {
      let copy = try await EncryptedFile.openCopy(
        options.ofCopy, of: .init(master: master, storeID: storeID, epoch: epoch))
      made.id = copy.storage.id
      return copy
    } catch {
      throw error == .anotherStore ? .otherCopy(at: options.copyPath) : error
    }
  }
  let count = vault.status().count
  await vault.close()
  printLine("joined the vault \(invitation.vault): \(counted(Int(clamping: count)))")
  var context = StorageContext(
    options: options, environment: environment, logger: .kistd(level: options.logLevel))
  context.options.storage = .shared
  let pinFile = PinFile(path: options.pinFile)
  let pin = try pinFile.read()
  do throws(StorageError) {
    if pin?.kind != .shared {
      _ = try Selection.select(asked: .shared, pin: pin, await Probes(context, pin: pin))
    }
    let new = Pin(kind: .shared, storeID: made.id)
    if new != pin { try pinFile.write(new, insteadOf: pin) }
  } catch {
    guard error.code == .unavailable else { throw error }
    printLine("\(error.message)")
    printLine("to move them into the vault: \(StorageKind.shared.migration)")
  }
}

/// The id of the copy that a join made.
private final class MadeCopy {
  var id: String?
}

extension StorageError {
  fileprivate static func copyExists(at path: String, _ hint: String? = nil) -> StorageError {
    let others = "for another vault, name another directory with --data; nothing was changed"
    return StorageError(
      .denied, "this machine has a copy of a vault already, \(path)",
      hint: [hint, others].compactMap(\.self).joined(separator: "; "))
  }

  fileprivate static func otherCopy(at path: String) -> StorageError {
    StorageError(
      .unavailable, "this machine has a copy with another key, of this vault or of another one",
      hint:
        "the copy was not changed; if this machine was removed and added again, or an admin put the vault back, "
        + movingAway(path)
    )
  }

  fileprivate static func movingAway(_ path: String) -> String {
    "move its former copy away, and join again: `mkdir former && mv \(shellQuoted(path))* former`"
  }
}
