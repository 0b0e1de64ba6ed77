internal import KistCluster
internal import KistCore
internal import KistFile
internal import KistReplica
internal import KistVault

/// Gives the vault a new key, which a removed machine does not get.
func renewKey(
  _ command: VaultCommand, _ options: Options,
  _ environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) {
  let removed = try command.word.map { word throws(StorageError) in
    guard let id = RecordID(hexadecimal: word) else {
      throw .badRequest(
        "this is not the id of a machine", hint: "`kistd vault members` lists the ids")
    }
    return id
  }
  let note = try noteOfVault(options)
  if command.fromCopy { try checkThatNoKistdRuns(options) }
  let admin = try command.openAdmin(options, environment)
  if command.fromCopy { return try await renewKey(from: options, admin) }
  let credentials: [CredentialSummary]
  do throws(StorageError) {
    credentials = try await admin.beginGeneration(without: removed, note: note)
  } catch {
    if error.code == .corrupt { await printDamage(note, options, environment) }
    throw error
  }
  guard removed != nil else {
    printLine("the vault has a new key: \(counted(credentials.count))")
    return
  }
  printLine("removed the machine; the vault has a new key")
  if credentials.isEmpty { return }
  printLine("the machine can have read these credentials; change them at their sources:")
  for summary in credentials { printLine(CredentialReference(summary.key).description) }
}

/// Gives the vault a new key, with the credentials of the copy on this machine.
private func renewKey(
  from options: Options, _ admin: VaultAdmin
) async throws(StorageError) {
  let copy = try await EncryptedFile.openCopy(options.ofCopy)
  do throws(StorageError) {
    let (credentials, invitation) = try await admin.beginGeneration(from: copy)
    printLine("the vault has a new key: \(counted(credentials.count)) of the copy on this machine")
    printLine("machines that report `corrupt` after this must join again with this line:")
    printLine(invitation.word)
    printLine("write it also on the paper of each recovery key, in place of the first line there")
  } catch {
    await copy.storage.close()
    throw error
  }
  await copy.storage.close()
}

/// Prints the credentials whose rows in the cluster are damaged, as the copy of the running kistd shows.
private func printDamage(
  _ note: [UInt8], _ options: Options, _ environment: (String) -> String?
) async {
  do throws(StorageError) {
    let damaged = try await damage(note, options, environment)
    if damaged.isEmpty { return }
    printLine("the cluster does not have the right rows of these credentials:")
    for summary in damaged {
      let isExpired = summary.expiresAt.map { $0 <= .now() } ?? false
      printLine(
        CredentialReference(summary.key).description + (isExpired ? " (expired: delete it)" : ""))
    }
    printLine("load each of them on this machine, save it again, and run the command again")
    printLine(
      "or stop kistd, run `kistd vault rotate --from-copy`, start kistd, and run the command again")
  } catch {
    printLine("cannot check which credentials are damaged in the cluster: \(error.message)")
    if let hint = error.hint { printLine("hint: \(hint)") }
  }
}

private func damage(
  _ note: [UInt8], _ options: Options, _ environment: (String) -> String?
) async throws(StorageError) -> [CredentialSummary] {
  for attempt in 1... {
    do throws(StorageError) {
      let vault = try await RunningVault(options, environment)
      return try await SharedVault.damaged(
        among: try await vault.credentials.findAll(), at: vault.status.head, note: note,
        on: try options.cluster(environment), try ReplicaOptions(machineKey: options.machineKey))
    } catch {
      // kistd learns the changes that this command has made, usually at once.
      guard error.code == .busy, attempt < 10 else { throw error }
    }
    await sleepUnwatched(for: .milliseconds(500))
  }
  return []
}
