internal import KistCore

extension UserStorage {
  /// Offers a person to unlock what answers `locked`, and then asks it once more.
  ///
  /// Nothing that was `locked` was carried out, so that a change may be repeated, too.
  func offeringToUnlock(_ access: StorageAccess, at terminal: Terminal) -> UserStorage {
    UserStorage(
      save: unlocking(access, at: terminal, save),
      load: unlocking(access, at: terminal, load),
      delete: unlocking(access, at: terminal, delete),
      find: unlocking(access, at: terminal, find))
  }
}

private func unlocking<Input: Sendable, Output: Sendable>(
  _ access: StorageAccess, at terminal: Terminal,
  _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
) -> @Sendable (Input) async throws(StorageError) -> Output {
  { input throws(StorageError) in
    do throws(StorageError) { return try await request(input) } catch {
      guard error.code == .locked,
        try await access.offerToUnlock(because: error, at: terminal)
      else { throw error }
      return try await request(input)
    }
  }
}

extension StorageAccess {
  /// Whether a person unlocked the storage: with the passphrase that it needs, or by saying so where
  /// it has a key file or a provider with prompts of its own.
  ///
  /// The question begins with why it is locked, which may be that its key is missing.
  func offerToUnlock(
    because error: StorageError, at terminal: Terminal
  ) async throws(StorageError) -> Bool {
    let reason = error.message.prefix(1).uppercased() + error.message.dropFirst()
    guard try await status().unlocksWith == .passphrase else {
      let answer = try terminal.ask("\(reason). Unlock it? [Y/n] ")
      guard ["", "y", "yes"].contains(answer.lowercased()) else { return false }
      _ = try await unlock(nil)
      return true
    }
    let passphrase = try terminal.askHidden("\(reason). Passphrase: ")
    guard !passphrase.isEmpty else { return false }
    _ = try await unlock(passphrase)
    return true
  }
}
