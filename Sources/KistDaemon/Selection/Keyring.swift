internal import KistCore

#if Libsecret
  internal import KistLibsecret

  /// Opens the user's keyring.
  func openKeyring(busAddress: String?, deadline: Duration) throws(StorageError) -> OpenStorage {
    Libsecret.open(Libsecret.Options(busAddress: busAddress, deadline: deadline))
  }

  /// Checks the user's keyring, for a few seconds at most.
  func probeKeyring(busAddress: String?) async -> StorageProbe {
    await Libsecret.probe(Libsecret.Options(busAddress: busAddress, deadline: .seconds(3)))
  }

  /// Returns other programs' items that have one of these sets of attributes.
  ///
  /// Also returns the number of items in locked keyrings.
  func foreignItems(
    with searches: [[String: String]], prompting: Bool, busAddress: String?, deadline: Duration
  ) async throws(StorageError) -> (
    items: [(attributes: [String: String], value: Secret?)], locked: Int
  ) {
    let found = try await Libsecret.foreignItems(
      with: searches, prompting: prompting,
      Libsecret.Options(busAddress: busAddress, deadline: deadline))
    return (found.items, found.locked)
  }
#else
  /// Throws, because this build has no keyring support.
  func openKeyring(busAddress: String?, deadline: Duration) throws(StorageError) -> OpenStorage {
    throw .noKeyrings
  }

  /// Returns that this build has no keyring support.
  func probeKeyring(busAddress: String?) async -> StorageProbe { .unusable(.noKeyrings) }

  /// Throws, because this build has no keyring support.
  func foreignItems(
    with searches: [[String: String]], prompting: Bool, busAddress: String?, deadline: Duration
  ) async throws(StorageError) -> (
    items: [(attributes: [String: String], value: Secret?)], locked: Int
  ) {
    throw .noKeyrings
  }

  extension StorageError {
    fileprivate static var noKeyrings: StorageError {
      StorageError(
        .unavailable, "this kistd was built without support for keyrings",
        hint: "use a kistd that was built with the trait Libsecret")
    }
  }
#endif
