internal import KistCore

extension Keyring {
  func status() async throws(StorageError) -> StorageStatus {
    try await asking { try await $0.status(of: $0.requiredCollection()) }
  }

  func probe() async -> StorageProbe {
    do throws(StorageError) {
      return try await asking { provider in
        let keys = try await provider.keys()
        _ = try await provider.openCollection()
        return .open(hasCredentials: !keys.isEmpty)
      }
    } catch { return error.code == .locked ? .locked : .unusable(error) }
  }

  /// Locks the default keyring for every program that uses it.
  func lock() async throws(StorageError) -> StorageStatus {
    let wasToStayLocked = isToStayLocked
    // Set before kistd connects, because a connection would unlock the keyring.
    isToStayLocked = true
    return try await asking { provider in
      let collection = try await provider.requiredCollection()
      guard try await provider.lock(collection) == nil else {
        isToStayLocked = wasToStayLocked
        throw StorageError(
          .denied, "the keyring's provider asks the user before it locks the keyring",
          hint: "lock it with the provider's own program")
      }
      following?.lookAgain()
      return try await provider.status(of: collection)
    }
  }

  /// Unlocks the default keyring, with its provider's prompt if necessary.
  func unlock(_ passphrase: Secret?) async throws(StorageError) -> StorageStatus {
    guard passphrase == nil else {
      throw StorageError(
        .badRequest, "kist cannot give a passphrase to a keyring",
        hint: "give no passphrase: the keyring's provider asks for it")
    }
    guard !isUnlocking else {
      throw StorageError(.busy, "another unlock is under way", hint: "answer its prompt")
    }
    isUnlocking = true
    defer { isUnlocking = false }
    return try await asking { provider in
      let collection = try await provider.requiredCollection()
      do throws(BusError) {
        let prompt = try await provider.promptToUnlock(collection)
        _ = try await prompt?.isAccepted(by: provider.deadline)
      } catch {
        guard error == .timeout, provider.service.unlocking?.isOpen == true else { throw error }
        throw StorageError(
          .timeout, "the keyring's prompt was not answered within \(options.deadline)",
          hint: "it stays open: answer it, or ask again (`kist unlock`), which waits for the same "
            + "one")
      }
      // The result that a prompt reports does not count.
      let status = try await provider.status(of: collection)
      guard !status.isLocked else {
        throw StorageError.locked(
          "the keyring is still locked: its prompt was dismissed, or could not be shown",
          hint: "answer the prompt; without a screen, pipe the password, without a newline, into "
            + "`gnome-keyring-daemon --replace --unlock --components=secrets`"
        )
      }
      isToStayLocked = false
      following?.lookAgain()
      return status
    }
  }
}

extension Provider {
  fileprivate func status(of collection: ObjectPath) async throws -> StorageStatus {
    let isLocked = try await isLocked(collection)
    return StorageStatus(
      storage: "libsecret", isLocked: isLocked, unlocksWith: .provider, reopensAtRestart: !isLocked,
      durability: .provider,
      keyProtection: "the keyring's own password, if it has one: any program of this user can "
        + "read what is in it while it is unlocked",
      isSessionEncrypted: service.session.isEncrypted,
      count: isLocked ? nil : try await keys().count)
  }
}
