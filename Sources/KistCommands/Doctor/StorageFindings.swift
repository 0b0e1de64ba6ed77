internal import KistCore
internal import KistWire

/// Returns the findings about a storage, and about the keyring beside it.
func storageFindings(
  _ status: Result<StorageStatus, StorageError>, kistdAnswers: Bool, _ diagnosis: StorageDiagnosis?,
  whyLocked: StorageError?
) -> [Finding] {
  if kistdAnswers, case .failure(let error) = status { return [Finding(error, about: "storage")] }
  guard case .success(let status) = status else {
    // Another finding says why kistd does not answer; these say what it would open.
    guard let diagnosis else { return [] }
    switch diagnosis.choice {
    case .success(let choice):
      return [
        .ok("storage", "kistd would open \(choice.reason)"),
        finding(of: diagnosis.keyring, beside: choice.storage),
      ]
    case .failure(let error): return [Finding(error, about: "storage")]
    }
  }
  var findings = [state(of: status, whyLocked)]
  // A key file that does not open the storage is already reported.
  if !status.isLocked || status.reopensAtRestart || status.unlocksWith != .keyFile {
    findings.append(.ok("key", status.keyProtection))
  }
  if status.keysInRAM == false {
    findings.append(
      .note(
        "memory", "the keys may be written to swap: the limit of locked memory is too low",
        hint: "raise it for kistd and restart it: `ulimit -l 1024`, or `LimitMEMLOCK=1M` in "
          + "`systemctl --user edit kistd`"))
  }
  if !status.isLocked, !status.reopensAtRestart {
    findings.append(
      status.unlocksWith == .keyFile
        ? .note(
          "restart", "kistd needs its key file after a restart, but it is missing or changed",
          hint: "put it back, with mode 600")
        : .note(
          "restart", "the storage is locked after a restart of kistd",
          hint: "unlock it then with `kist unlock`"))
  }
  if status.isSessionEncrypted == false {
    findings.append(
      .note(
        "session",
        "the keyring's provider does not encrypt sessions: a monitor of the session bus sees secrets",
        hint: "use gnome-keyring or KeePassXC; or stop kistd, and move to the encrypted file with "
          + "`kistd migrate --to encrypted-file`"))
  }
  if let keyring = diagnosis?.keyring {
    findings.append(finding(of: keyring, beside: status.storage))
  }
  return findings
}

private func state(of status: StorageStatus, _ whyLocked: StorageError?) -> Finding {
  let name = status.reason ?? status.storage
  if status.isLocked {
    return Finding(
      .problem(.locked), "storage", "\(name); \(whyLocked?.message ?? "it is locked")",
      hint: whyLocked?.hint ?? "unlock it with `kist unlock`")
  }
  if status.integrity == .failed {
    return Finding(
      .problem(.corrupt), "storage", "\(name); it is damaged, but intact credentials still load",
      hint: "stop kistd, and run `kistd fsck`")
  }
  let count = status.count.map { ", with \(counted($0))" } ?? ""
  return .ok("storage", "\(name); it is open\(count)")
}

private func finding(of keyring: StorageProbe, beside storage: String) -> Finding {
  switch keyring {
  case .open where storage == "libsecret": .ok("keyring", "it is open")
  case .locked where storage == "libsecret":
    .note("keyring", "it is locked", hint: "unlock it with `kist unlock`")
  case .open, .locked:
    .note(
      "keyring", "there is a keyring, but credentials are kept elsewhere",
      hint:
        "to move them, stop kistd and run `kistd migrate --to libsecret`, with the same --data if "
        + "one was given")
  case .unusable(let error) where storage == "libsecret": Finding(error, about: "keyring")
  case .unusable(let error): .ok("keyring", "not used: \(error.message)")
  }
}
