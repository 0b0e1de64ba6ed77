package import KistCore
package import KistFile

/// The storage that kistd opens, and the reason.
package struct Selection: Sendable, Equatable {
  package var kind: StorageKind
  /// A clause for the log and for `status`; it describes the start, and may be outdated later.
  package var reason: String
}

extension Selection {
  /// Selects a storage.
  ///
  /// kistd keeps using a pinned storage, even if it is unusable now. The storage then reports its
  /// error, because credentials that seem to vanish are worse than an error.
  ///
  /// `asked` is `nil` if no storage was requested by name. `keyring` is `nil` if it makes no
  /// difference and was not checked.
  package static func select(
    asked: StorageKind?, pin: Pin?, keyring: StorageProbe?, file: EncryptedFile.Presence
  ) throws(StorageError) -> Selection {
    if let pin { return try select(asked: asked, pin: pin, file: file) }
    if let kind = asked {
      // If the file cannot be examined, it may have credentials that would seem to vanish.
      if kind == .libsecret, case .unreadable(let error) = file { throw error }
      if kind == .libsecret, case .store(_, hasCredentials: true) = file {
        throw .elsewhere(.encryptedFile, asked: kind)
      }
      return Selection(kind: kind, reason: "\(kind.name): it was asked for")
    }
    return try select(keyring: keyring, file: file)
  }

  private static func select(
    asked: StorageKind?, pin: Pin, file: EncryptedFile.Presence
  ) throws(StorageError) -> Selection {
    if let kind = asked, kind != pin.kind { throw .elsewhere(pin.kind, asked: kind) }
    if pin.kind == .encryptedFile {
      switch file {
      case .absent: throw .storeIsGone
      case .store(let id, _): if id != pin.settled(on: file).storeID { throw .anotherStore }
      case .unreadable(let error): throw error
      }
    }
    return Selection(
      kind: pin.kind, reason: "\(pin.kind.name): credentials have been kept there before")
  }

  private static func select(
    keyring: StorageProbe?, file: EncryptedFile.Presence
  ) throws(StorageError) -> Selection {
    let isInFile: Bool
    switch file {
    case .store(_, let hasCredentials): isInFile = hasCredentials
    case .absent: isInFile = false
    // The file may have credentials, so kistd must not ignore it.
    case .unreadable(let error): throw error
    }
    switch keyring {
    case .open(hasCredentials: true):
      if isInFile { throw .inBoth }
      return Selection(kind: .libsecret, reason: "the keyring: it had credentials of kist")
    case _ where isInFile:
      return Selection(kind: .encryptedFile, reason: "the encrypted file: it had credentials")
    case .open: return Selection(kind: .libsecret, reason: "the keyring: it was there and unlocked")
    case .locked:
      return Selection(kind: .libsecret, reason: "the keyring: it was there, and could be unlocked")
    case .unusable(let error):
      return Selection(kind: .encryptedFile, reason: "the encrypted file: \(error.message)")
    case nil: return Selection(kind: .encryptedFile, reason: "the encrypted file")
    }
  }
}

extension StorageError {
  fileprivate static func elsewhere(_ kind: StorageKind, asked: StorageKind) -> StorageError {
    StorageError(
      .unavailable, "credentials are kept in \(kind.name), and \(asked.name) is asked for",
      hint:
        "move them with \(asked.migration); or name another store with --data, or leave out what "
        + "asks for \(asked.name)")
  }

  fileprivate static var inBoth: StorageError {
    StorageError(
      .unavailable, "there are credentials in the keyring and in the encrypted file",
      hint:
        "bring them together with `kistd migrate`, given --to libsecret or --to encrypted-file, and "
        + "the same --data if one was given")
  }
}
