internal import KistCore
internal import KistWire

/// Returns the findings about a storage, and about the storages of other programs.
///
/// - Parameter isServed: Whether a kistd that kist does not ask has the store open.
func storageFindings(
  _ status: Result<StorageStatus, StorageError>, kistdAnswers: Bool, _ diagnosis: StorageDiagnosis?,
  isServed: Bool = false, whyLocked: StorageError?, damage: StorageError? = nil
) -> [Finding] {
  if kistdAnswers, case .failure(let error) = status { return [Finding(error, about: "storage")] }
  guard case .success(let status) = status else {
    // These findings are about the storage that kistd would open. Another finding has the reason why kistd does not answer.
    guard let diagnosis else { return [] }
    switch diagnosis.choice {
    case .success(let choice):
      let opening = "kistd would open \(choice.reason)"
      let storage =
        choice.whyLocked.map {
          Finding(.problem($0.code), "storage", "\(opening); \($0.message)", hint: $0.hint)
        } ?? .ok("storage", opening)
      return [storage]
        + diagnosis.external.map {
          finding(
            of: $0, isUsed: $0.storage == choice.storage, isReplaced: diagnosis.replacesKeyring)
        }
    case .failure(let error):
      return isServed && error.code == .unavailable
        ? [] : [Finding(error.ofStart, about: "storage")]
    }
  }
  var findings = [state(of: status, whyLocked)]
  if let damage { findings.append(Finding(damage, about: "storage")) }
  // A key file that does not open the storage is already reported.
  if !status.isLocked || status.reopensAtRestart || status.unlocksWith != .keyFile {
    findings.append(.ok("key", status.keyProtection))
  }
  if let vault = status.vault {
    findings.append(finding(of: vault))
    findings += vault.warnings.map { .note("vault", $0) }
  }
  if status.keysInRAM == false {
    findings.append(
      .note(
        "memory", "the keys may be written to swap: the system does not let kistd lock memory",
        hint: "raise the limit and restart kistd: `ulimit -l 1024`, or `LimitMEMLOCK=1M` in "
          + "`systemctl --user edit kistd`; some containers forbid it at any limit"))
  }
  // With a problem, the next start may refuse the files.
  if !status.isLocked, !status.reopensAtRestart, status.problem == nil {
    findings.append(
      status.unlocksWith == .keyFile
        ? .note(
          "restart",
          "kistd needs its key file after a restart, but could not open the store with it",
          hint: "put the right file back, with mode 600")
        : .note(
          "restart", "the storage is locked after a restart of kistd",
          hint: "unlock it then with `kist unlock`"))
  }
  if status.isSessionEncrypted == false {
    findings.append(
      .note(
        "session",
        "the provider of the storage does not encrypt sessions: a monitor of the session bus sees "
          + "secrets",
        hint: "use gnome-keyring or KeePassXC; or stop kistd, and move to another storage with "
          + "`kistd migrate`"))
  }
  // The other errors are normal while kistd runs, because it has the store open.
  if case .failure(let error) = diagnosis?.choice, error.code == .denied {
    findings.append(
      Finding(
        .problem(.denied), "restart", "kistd would not start again: \(error.message)",
        hint: error.hint))
  }
  let external = diagnosis?.external ?? []
  let isOpen = !status.isLocked && status.problem == nil
  return findings
    + external.map {
      finding(
        of: $0, isUsed: $0.storage == status.storage, isOpen: isOpen,
        isReplaced: diagnosis?.replacesKeyring ?? false)
    }
}

/// The number of seconds without a confirmation after which the copy may be old.
///
/// kistd confirms the state every few seconds.
private let longestConfirmation = 30

private func finding(of vault: SharedVaultStatus) -> Finding {
  guard vault.isCopyComplete else {
    return .note(
      "vault", "the copy on this machine has fewer changes than the machine has verified",
      hint: "kistd completes the copy as soon as it reaches the cluster")
  }
  let ago = TimeSpan.seconds(Int64(vault.confirmedAgo))
  guard vault.confirmedAgo <= longestConfirmation else {
    return .note(
      "vault", "the copy on this machine may be old: it was confirmed \(ago) ago",
      hint: "start the adapter, and check that the cluster can be reached")
  }
  return .ok(
    "vault",
    "\(vault.members) machine\(vault.members == 1 ? "" : "s"), generation \(vault.generation); confirmed \(ago) ago"
  )
}

private func state(of status: StorageStatus, _ whyLocked: StorageError?) -> Finding {
  let name = status.reason ?? status.storage
  if status.isLocked {
    return Finding(
      .problem(.locked), "storage", "\(name); \(whyLocked?.message ?? "it is locked")",
      hint: whyLocked?.hint ?? "unlock it with `kist unlock`")
  }
  if let problem = status.problem { return Finding(problem, about: "storage") }
  if status.integrity == .failed {
    return Finding(
      .problem(.corrupt), "storage", "\(name); it is damaged, but intact credentials still load",
      hint: "stop kistd, and run `kistd fsck`")
  }
  let count = status.count.map { ", with \(counted($0))" } ?? ""
  return .ok("storage", "\(name); it is open\(count)")
}

/// - Parameter isOpen: Whether kistd has the storage that it uses open.
/// - Parameter isReplaced: Whether kist-secret-service takes the place of the keyring when that one ends.
private func finding(
  of other: StorageDiagnosis.External, isUsed: Bool, isOpen: Bool = false, isReplaced: Bool
) -> Finding {
  switch other.probe {
  case .open where isReplaced && !isUsed, .locked where isReplaced && !isUsed:
    .ok(other.label, "not used: kist-secret-service is set up to take its place")
  case .open where isUsed: .ok(other.label, "it is open")
  case .locked where isUsed:
    .note(other.label, "it is locked", hint: "unlock it with `kist unlock`")
  case .open:
    .note(
      other.label, "it can be used, but credentials are kept elsewhere",
      hint: "to move them, stop kistd and \(migration(to: other))")
  case .locked:
    .note(
      other.label, "it is locked, but credentials are kept elsewhere",
      hint: "to move them, unlock it, stop kistd and \(migration(to: other))")
  case .unusable(let error) where isUsed && isOpen:
    .ok(other.label, "kistd has it open, but this shell cannot reach it: \(error.message)")
  case .unusable(let error) where isUsed: Finding(error, about: other.label)
  case .unusable(let error): .ok(other.label, "not used: \(error.message)")
  }
}

private func migration(to other: StorageDiagnosis.External) -> String {
  "run `kistd migrate --to \(other.storage)`, with the same --data if one was given"
}

extension StorageDiagnosis {
  /// Whether kist-secret-service takes the place of the running keyring when that one ends.
  fileprivate var replacesKeyring: Bool {
    if case .other = provider?.owner { provider?.startable == .kist } else { false }
  }
}
