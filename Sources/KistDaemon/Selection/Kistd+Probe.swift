internal import KistCore
internal import KistFile
internal import KistWire

/// Runs `kistd probe`: reports which storage kistd would open, why, and the state of the keyring.
///
/// Returns the exit status. It is that of the error if kistd would open none.
func probe(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let command = try parse(ProbeCommand.self, arguments)
  let diagnosis = try await StorageDiagnosis(
    command.options(environment: environment), environment: environment)
  if command.json {
    tell(json: diagnosis.json())
  } else {
    diagnosis.lines.forEach(tell)
  }
  guard case .failure(let error) = diagnosis.choice else { return 0 }
  return error.code.exitStatus
}

extension Options.KeySource {
  /// Refuses a file that kistd would not accept; does not read a passphrase from a descriptor.
  fileprivate func checkFile() throws(StorageError) {
    switch self {
    case .file(let path): try EncryptedFile.checkFile(of: .keyFile(path: path))
    case .passphraseFile(let path): try EncryptedFile.checkFile(of: .passphraseFile(path: path))
    case .passphrase: break
    }
  }
}

extension StorageDiagnosis {
  /// Examines the storages as kistd does when it starts.
  init(_ options: Options, environment: (String) -> String?) async {
    let keyring = await probeKeyring(
      busAddress: sessionBusAddress(environment: environment, isSocket: isSocket))
    let choice: Result<Choice, StorageError>
    do throws(StorageError) {
      let pin = try PinFile(path: options.pinFile).read()
      let selection = try Selection.select(
        asked: options.storage, pin: pin, keyring: keyring,
        file: EncryptedFile.Presence(options, pin: pin))
      switch selection.kind {
      case .encryptedFile: try options.keySource.checkFile()
      case .libsecret:
        try ProcessLock.checkIsFree(
          at: options.keyringLock, hint: keyringLockHint, orElse: StorageError.keyringServed)
      }
      choice = .success(Choice(storage: selection.kind.rawValue, reason: selection.reason))
    } catch { choice = .failure(error) }
    self.init(choice: choice, keyring: keyring)
  }

  /// The diagnosis for the user.
  fileprivate var lines: [String] {
    let chosen: [String] =
      switch choice {
      case .success(let choice): ["storage: \(choice.storage)", "reason: \(choice.reason)"]
      case .failure(let error): ["storage: none", "reason: \(error.message)"] + hint(of: error)
      }
    return switch keyring {
    case .open(let hasCredentials):
      chosen + ["keyring: open, with \(hasCredentials ? "" : "no ")credentials of kist"]
    case .locked: chosen + ["keyring: locked"]
    case .unusable(let error): chosen + ["keyring: not usable: \(error.message)"] + hint(of: error)
    }
  }

  private func hint(of error: StorageError) -> [String] { error.hint.map { ["hint: \($0)"] } ?? [] }
}
