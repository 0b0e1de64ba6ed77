internal import ArgumentParser
internal import KistCluster
internal import KistCore
internal import KistFile
internal import KistReplica
internal import KistShared
internal import KistSodium
internal import KistSystem
internal import KistVault
internal import Logging

struct VaultCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd vault",
    abstract: "Make a shared vault, join one, or add and remove machines.",
    usage: "kistd vault ACTION [WORD] [ACCOUNT] [OPTIONS]",
    discussion: """
      The actions are:

      identity      Print the public keys of this machine. Makes its key file if there is none.
      init          Make a vault in the cluster, with this machine as its first member.
      add KEYS      Add the machine with these public keys. Prints the line with which it joins.
      join LINE     Join a vault with the line from its admin; kistd must not be running.
      members       List the machines of the vault.
      remove ID     Remove a machine. The others get a new key. Lists what the machine has read.
      rotate        Give the vault a new key, and keep all machines.
      recovery      Add a recovery key to the vault. Prints it once, to be written on paper.
      new-admin FILE
                    Make a new admin key in FILE. The former one becomes invalid.
      seen SERVICE [ACCOUNT]
                    List the machines that have the newest value of a credential; needs a running kistd.
      """)

  enum Action: String, CaseIterable {
    case identity, `init`, add, join, members, remove, rotate, recovery, seen
    case newAdmin = "new-admin"

    var takesWord: Bool { [.add, .join, .remove, .seen, .newAdmin].contains(self) }
    var needsAdmin: Bool { self == .`init` || (takesRecovery && self != .join) }
    var takesName: Bool { [.`init`, .add, .recovery, .join].contains(self) }
    var takesRecovery: Bool {
      [.add, .join, .remove, .rotate, .recovery, .newAdmin].contains(self)
    }
  }

  @Argument(
    help: .value("action", "What to do."), completion: .list(Action.allCases.map(\.rawValue)))
  var action: String

  @Argument(
    help: .value(
      "word", "The public keys or the id of a machine, the line of an admin, a file, or a service.")
  )
  var word: String?

  @Argument(help: .value("account", "The account of the credential, for seen."))
  var account: String?

  @Option(help: .value("name", "The name of this machine, or of the one that is added."))
  var name: String?

  @Flag(help: "Let the machine that is added only read the vault.")
  var reader = false

  @Option(help: .value("path", "The file with the admin key; init makes it if there is none."))
  var adminKey: String?

  @Flag(
    help:
      "With rotate: take the credentials from the copy on this machine, for a cluster that lost changes; kistd must not be running."
  )
  var fromCopy = false

  @Flag(help: "Use a recovery key instead of the admin key; with join, add this machine first.")
  var recovery = false

  @Option(
    help: .value(
      "number",
      "Read the passphrase of the admin key, or the recovery key, from this descriptor; by default standard input."
    ))
  var passphraseFd: String?

  @Option(
    help: .value(
      "number",
      "With new-admin: read the new passphrase from this descriptor; by default standard input."))
  var newPassphraseFd: String?

  @OptionGroup var strength: WeakOption

  @Option(help: .value("directory", "The directory of the copy; by default $XDG_DATA_HOME/kist."))
  var data: String?

  @OptionGroup var output: JSONOption

  @OptionGroup var vault: VaultOptions

  /// Returns the action and the options of kistd; throws `badRequest` if an argument does not fit.
  func checked(
    environment: (String) -> String?
  ) throws(StorageError) -> (Action, Options) {
    guard let action = Action(rawValue: action) else { throw Self.noSuchAction }
    guard (word != nil) == action.takesWord else {
      throw .wrongUsage(
        action.takesWord ? "\(action.rawValue) needs a word after it" : "unexpected argument",
        of: Self.self)
    }
    guard action == .seen || (account == nil && !output.json) else {
      throw .wrongUsage("an account and --json are only for seen", of: Self.self)
    }
    guard !recovery || (action.takesRecovery && adminKey == nil) else {
      throw .wrongUsage(
        "--recovery is only for add, join, remove, rotate, recovery and new-admin, instead of --admin-key",
        of: Self.self)
    }
    guard action.takesName && (action != .join || recovery) || name == nil else {
      throw .wrongUsage(
        "--name is only for init, add and recovery, and for join with --recovery", of: Self.self)
    }
    guard action.needsAdmin || recovery || (adminKey == nil && passphraseFd == nil) else {
      throw .wrongUsage(
        "--admin-key and --passphrase-fd are only for init, add, remove, rotate, recovery and new-admin",
        of: Self.self)
    }
    guard !fromCopy || action == .rotate else {
      throw .wrongUsage("--from-copy is only for rotate", of: Self.self)
    }
    guard newPassphraseFd == nil || action == .newAdmin else {
      throw .wrongUsage("--new-passphrase-fd is only for new-admin", of: Self.self)
    }
    guard !reader || action == .add else {
      throw .wrongUsage("--reader is only for add", of: Self.self)
    }
    let options = try options(environment: environment) { kistd in
      kistd.store.place.data = data
      kistd.vault = vault
      kistd.strength = strength
    }
    return (action, options)
  }

  static var noSuchAction: StorageError {
    .wrongUsage(
      "there is no such action of a vault", of: Self.self,
      hint: "the actions are \(listed(Action.allCases.map(\.rawValue), "and"))")
  }

  func required(_ value: String?, _ flag: String) throws(StorageError) -> String {
    guard let value, !value.isEmpty else {
      throw .wrongUsage("\(flag) is missing", of: Self.self)
    }
    return value
  }

  private func read(_ asked: AskedPassphrase) throws(StorageError) -> Secret {
    try readPassphrase(asked, from: try descriptor(passphraseFd ?? "0", of: "--passphrase-fd") ?? 0)
  }

  /// Makes the file for another admin key, or opens the file that an earlier attempt made.
  func openOrMake(_ file: AdminKeyFile, _ options: Options) throws(StorageError) -> SigningKey {
    let descriptor = try descriptor(newPassphraseFd ?? "0", of: "--new-passphrase-fd") ?? 0
    let asked = file.exists ? AskedPassphrase.ofNewAdminKey : .newOfAdminKey
    let passphrase = try readPassphrase(asked, from: descriptor)
    if !file.exists { try refuseSeveralLines(passphrase) }
    return try file.openOrMake(passphrase, allowsWeak: options.allowsWeakPassphrase)
  }

  /// Refuses a new passphrase that no prompt could read; two lines are probably the passphrase twice.
  private func refuseSeveralLines(_ passphrase: Secret) throws(StorageError) {
    let hasSeveral = passphrase.withBytes { bytes in
      bytes.indices.contains { bytes[$0] == UInt8(ascii: "\n") }
    }
    guard hasSeveral else { return }
    throw .badRequest(
      "the new passphrase has more than one line", hint: "pipe in one line; nothing was changed")
  }

  /// Reads a recovery key, and returns the keys of the member that it is.
  func openRecoveryKey() throws(StorageError) -> MachineIdentity {
    try MachineIdentity(seed: RecoveryKey.seed(of: try read(.recoveryKey)))
  }

  /// Returns what an admin can do on this machine, with the admin key or a recovery key.
  func openAdmin(
    _ options: Options, _ environment: (String) -> String?
  ) throws(StorageError) -> VaultAdmin {
    let replica = try ReplicaOptions(machineKey: options.machineKey)
    let cluster = try options.cluster(environment)
    let key =
      recovery ? try openRecoveryKey().signingKey : try openAdminKey(isNew: false, options)
    return VaultAdmin(key, on: cluster, replica)
  }

  /// Reads the passphrase, and opens the admin key; makes it if `isNew` allows that.
  func openAdminKey(isNew: Bool, _ options: Options) throws(StorageError) -> SigningKey {
    let file = AdminKeyFile(path: try required(adminKey, "--admin-key"))
    let makes = isNew && !file.exists
    let passphrase = try read(makes ? .newOfAdminKey : .ofAdminKey)
    if makes { try refuseSeveralLines(passphrase) }
    return isNew
      ? try file.openOrMake(passphrase, allowsWeak: options.allowsWeakPassphrase)
      : try file.open(passphrase)
  }
}

/// Runs `kistd vault`.
func runVaultCommand(
  _ arguments: [String], environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  // For `nonsense --help`, the parser would explain `vault`.
  if let first = arguments.first, !first.hasPrefix("-"),
    VaultCommand.Action(rawValue: first) == nil
  {
    throw VaultCommand.noSuchAction
  }
  let command = try parse(VaultCommand.self, arguments)
  let (action, options) = try command.checked(environment: environment)
  switch action {
  case .identity:
    let key = try EncryptedFile.newMachineKey(at: options.machineKey)
    printLine(try MachineIdentity(seed: key).keys.word)
  case .`init`: try await makeVault(command, options, environment)
  case .add:
    let keys = try MachineKeys(word: command.word ?? "")
    let name = try command.required(command.name, "--name")
    let note = try noteOfVault(options)
    let admin = try command.openAdmin(options, environment)
    let invitation = try await admin.add(
      VaultAdmin.NewMember(keys, command.reader ? .reader : .writer, name: name), note: note)
    printLine(invitation.word)
  case .remove, .rotate: try await renewKey(command, options, environment)
  case .recovery: try await addRecoveryKey(command, options, environment)
  case .newAdmin: try await replaceAdminKey(command, options, environment)
  case .join:
    var invitation = try SharedVault.Invitation(word: command.word ?? "")
    // Before the recovery key adds this machine.
    try checkThatNoKistdRuns(options)
    if command.recovery {
      invitation = try await addThisMachine(command, invitation, options, environment)
    }
    try await join(invitation, options, environment)
  case .members:
    let note = try noteOfVault(options)
    let identity = try ReplicaOptions(machineKey: options.machineKey).machine
    for machine in try SharedVault.machines(in: note, of: identity) {
      printLine(line(of: machine, on: identity))
    }
  case .seen:
    let key = CredentialKey(service: command.word ?? "", account: command.account ?? "")
    let report = try await SeenReport(
      of: key, note: try noteOfVault(options), options, environment)
    if command.output.json { printJSON(report.json) } else { report.lines.forEach(printLine) }
  }
  return 0
}

/// Returns the line that describes a machine of the vault.
func line(of machine: SharedVault.Machine, on identity: MachineIdentity) -> String {
  let role =
    switch machine.role {
    case .writer: "writer"
    case .reader: "reader"
    }
  let isThis = machine.id == identity.id ? " (this machine)" : ""
  let isAdmin = machine.isAdmin ? " (recovery key)" : ""
  return "\(machine.id) \(role) \(machine.name)\(isThis)\(isAdmin)"
}

/// Returns the note beside the copy; throws `unavailable` if this machine has not joined a vault.
func noteOfVault(_ options: Options) throws(StorageError) -> [UInt8] {
  guard let note = try EncryptedFile.note(ofCopy: options.copyPath) else { throw .notJoined }
  return note
}
