internal import KistCore

#if Libsecret
  internal import KistLibsecret

  /// Opens the user's keyring.
  func openKeyring(busAddress: String?, deadline: Duration) throws(StorageError) -> OpenStorage {
    Libsecret.open(Libsecret.Options(busAddress: busAddress, deadline: deadline))
  }

  /// Looks at the user's keyring, for a few seconds at most.
  func probeKeyring(busAddress: String?) async -> StorageProbe {
    await Libsecret.probe(Libsecret.Options(busAddress: busAddress, deadline: .seconds(3)))
  }
#else
  /// There is no keyring in this build.
  func openKeyring(busAddress: String?, deadline: Duration) throws(StorageError) -> OpenStorage {
    throw .noKeyrings
  }

  /// There is no keyring in this build.
  func probeKeyring(busAddress: String?) async -> StorageProbe { .unusable(.noKeyrings) }

  extension StorageError {
    fileprivate static var noKeyrings: StorageError {
      StorageError(
        .unavailable, "this kistd was built without support for keyrings",
        hint: "use a kistd that was built with the trait Libsecret")
    }
  }
#endif
