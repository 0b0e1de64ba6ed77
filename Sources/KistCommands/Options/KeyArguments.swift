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
    try CredentialKey(service: service, orReferenceBeside: account)
  }
}

/// The same, where a person can be asked for it.
struct AskedKeyArguments: ParsableArguments {
  @Argument(help: "The service, or a reference: kist://SERVICE/ACCOUNT.")
  var service: String?

  @Argument(help: "The account, where a service has several.")
  var account = ""

  /// The key; whoever named no service is asked for both, at a terminal.
  func key(askingAt terminal: Terminal) throws(StorageError) -> CredentialKey {
    if let service { return try CredentialKey(service: service, orReferenceBeside: account) }
    guard terminal.inputIsTerminal else {
      throw StorageError(
        .badRequest, "there is no service",
        hint: "name it: `kist save SERVICE [ACCOUNT]`", outcome: .unchanged)
    }
    let service = try terminal.ask("Service: ")
    guard !service.isEmpty else { throw .badRequest("the service is empty") }
    let hasReference = service.hasPrefix(CredentialReference.scheme)
    return try CredentialKey(
      service: service,
      orReferenceBeside: hasReference ? "" : try terminal.ask("Account (Enter for none): "))
  }
}

extension CredentialKey {
  fileprivate init(
    service: String, orReferenceBeside account: String
  ) throws(StorageError) {
    guard service.hasPrefix(CredentialReference.scheme) else {
      self.init(service: service, account: account)
      return
    }
    guard let reference = CredentialReference(service) else {
      throw StorageError(
        .badRequest, "the reference is not kist://SERVICE/ACCOUNT",
        hint: "percent-encode everything but letters, digits and -._~")
    }
    guard account.isEmpty else {
      throw .badRequest("an account stands beside a reference, which has its own")
    }
    self = reference.key
  }
}
