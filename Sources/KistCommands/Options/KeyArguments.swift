internal import ArgumentParser
internal import KistCore

/// The credential that is meant.
struct KeyArguments: ParsableArguments {
  @Argument(help: "The service, or a reference: kist://SERVICE/ACCOUNT.")
  var service: String

  @Argument(help: "The account, where a service has several.")
  var account = ""

  /// The key, with a reference taken apart.
  func key() throws(StorageError) -> CredentialKey {
    guard service.hasPrefix("kist://") else {
      return CredentialKey(service: service, account: account)
    }
    guard let reference = CredentialReference(service) else {
      throw StorageError(
        .badRequest, "the reference is not kist://SERVICE/ACCOUNT",
        hint: "percent-encode everything but letters, digits and -._~")
    }
    guard account.isEmpty else {
      throw .badRequest("an account stands beside a reference, which has its own")
    }
    return reference.key
  }
}
