internal import ArgumentParser
internal import KistCore
internal import KistSystem

/// The arguments that name a credential.
struct KeyArguments: ParsableArguments {
  @Argument(help: "The service, or a reference: kist://SERVICE/ACCOUNT.")
  var service: String

  @Argument(help: "The account of the credential, if it has one.")
  var account = ""

  /// Returns the key; splits a reference.
  func key() throws(StorageError) -> CredentialKey {
    try CredentialKey(service: service, orReferenceBeside: account)
  }
}

/// The same arguments, for commands that can do without them.
struct OptionalKeyArguments: ParsableArguments {
  @Argument(help: "The service, or a reference: kist://SERVICE/ACCOUNT.")
  var service: String?

  @Argument(help: "The account of the credential, if it has one.")
  var account = ""

  /// Returns the query for credentials with these attributes, and of this service and account if given.
  func query(_ attributes: Attributes) throws(StorageError) -> CredentialQuery {
    guard let service else { return CredentialQuery(attributes: attributes) }
    let key = try CredentialKey(service: service, orReferenceBeside: account)
    let hasAccount = !account.isEmpty || service.hasPrefix(CredentialReference.scheme)
    return CredentialQuery(
      service: key.service, account: hasAccount ? key.account : nil, attributes: attributes)
  }

  /// Returns the key; throws if no service is given.
  func key() throws(StorageError) -> CredentialKey {
    guard let service else {
      throw .badRequest(
        "the service is missing",
        hint: "name it: `kist load SERVICE [ACCOUNT]`, or give an `--attribute`")
    }
    return try CredentialKey(service: service, orReferenceBeside: account)
  }

  /// Returns the key; asks for service and account at a terminal if no service is given.
  func key(askingAt terminal: Terminal) throws(StorageError) -> CredentialKey {
    if let service { return try CredentialKey(service: service, orReferenceBeside: account) }
    guard terminal.inputIsTerminal else {
      throw .refused("the service is missing", hint: "name it: `kist save SERVICE [ACCOUNT]`")
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
  fileprivate init(service: String, orReferenceBeside account: String) throws(StorageError) {
    guard service.hasPrefix(CredentialReference.scheme) else {
      self.init(service: service, account: account)
      return
    }
    guard let reference = CredentialReference(service) else {
      throw .badRequest(
        "the reference must be kist://SERVICE/ACCOUNT", hint: CredentialReference.hint)
    }
    guard account.isEmpty else {
      throw .badRequest("the reference already contains the account, so it cannot be given again")
    }
    self = reference.key
  }
}

/// Returns the command line, quoted for a shell, with `--` before a name that looks like an option.
func line(_ command: String, _ key: CredentialKey) -> String {
  let words = [key.service, key.account].filter { !$0.isEmpty }
  let hasOption = words.contains { $0.hasPrefix("-") }
  return command + " " + (hasOption ? "-- " : "") + words.map(shellQuoted).joined(separator: " ")
}
