internal import KistCore

extension Keyring {
  func status() async throws(StorageError) -> StorageStatus {
    try await perform { deadline in
      try await asking(by: deadline) { service in
        try await service.status(of: service.requiredCollection(by: deadline), by: deadline)
      }
    }
  }

  /// Returns the state of the keyring.
  func probe() async -> StorageProbe {
    do throws(StorageError) {
      return try await perform { deadline in
        try await asking(by: deadline) { service in
          let keys = try await service.keys(
            with: Item.attributes(of: CredentialQuery()), by: deadline)
          _ = try await service.openCollection(by: deadline)
          return .open(hasCredentials: !keys.isEmpty)
        }
      }
    } catch { return error.code == .locked ? .locked : .unusable(error) }
  }

  /// Locks the default keyring for every program that uses it.
  func lock() async throws(StorageError) -> StorageStatus {
    try await perform { deadline in
      let wasToStayLocked = isToStayLocked
      // Set before kistd connects, because a connection would unlock the keyring.
      isToStayLocked = true
      return try await asking(by: deadline) { service in
        let collection = try await service.requiredCollection(by: deadline)
        guard try await service.lock(collection, by: deadline) == nil else {
          isToStayLocked = wasToStayLocked
          throw StorageError(
            .denied, "the keyring's provider wants to be asked before it locks",
            hint: "lock it with the provider's own program")
        }
        following?.lookAgain()
        return try await service.status(of: collection, by: deadline)
      }
    }
  }

  /// Unlocks the default keyring, with its provider's prompt if necessary.
  func unlock(_ passphrase: Secret?) async throws(StorageError) -> StorageStatus {
    guard passphrase == nil else {
      throw StorageError(
        .badRequest, "a keyring takes no passphrase from kist",
        hint: "leave it out: the keyring's provider asks for it itself")
    }
    guard !isUnlocking else {
      throw StorageError(.busy, "another unlock is under way", hint: "answer its prompt")
    }
    isUnlocking = true
    defer { isUnlocking = false }
    return try await perform { deadline in
      try await asking(by: deadline) { service in
        let collection = try await service.requiredCollection(by: deadline)
        do throws(BusError) {
          let prompt = try await service.promptToUnlock(collection, by: deadline)
          _ = try await prompt?.isAccepted(by: deadline)
        } catch {
          guard error == .timeout, service.unlocking?.isOpen == true else { throw error }
          throw StorageError.unansweredPrompt(within: options.deadline)
        }
        // The result that a prompt reports does not count.
        let status = try await service.status(of: collection, by: deadline)
        guard !status.isLocked else {
          throw StorageError.locked(
            "the keyring is still locked: its prompt was dismissed, or there was nobody to show it",
            hint: "answer the prompt; without a screen, give the password, and no newline, to "
              + "`gnome-keyring-daemon --replace --unlock --components=secrets` on its standard input"
          )
        }
        isToStayLocked = false
        following?.lookAgain()
        return status
      }
    }
  }
}

extension SecretService {
  fileprivate func status(
    of collection: ObjectPath, by deadline: Deadline
  ) async throws -> StorageStatus {
    let isLocked = try await isLocked(collection, by: deadline)
    return StorageStatus(
      storage: "libsecret", isLocked: isLocked, unlocksWith: .provider, reopensAtRestart: !isLocked,
      durability: .provider,
      keyProtection: "the keyring's own password, if it has one: any program of this user can "
        + "read what is in it while it is unlocked",
      isSessionEncrypted: session.isEncrypted,
      count: isLocked
        ? nil
        : try await keys(with: Item.attributes(of: CredentialQuery()), by: deadline).count)
  }
}
