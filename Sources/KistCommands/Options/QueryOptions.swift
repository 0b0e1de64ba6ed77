internal import ArgumentParser
internal import KistCore

/// The options that select credentials; without any, all are selected.
struct QueryOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Only credentials of this service.", valueName: "service"))
  var service: String?

  @Option(help: ArgumentHelp("Only credentials of this account.", valueName: "account"))
  var account: String?

  @Option(
    name: .customLong("attribute"),
    help: ArgumentHelp("Only credentials that have it; may be repeated.", valueName: "name=value"))
  var attributes: [String] = []

  /// Whether no option is given, so that all credentials are selected.
  var meansAll: Bool { service == nil && account == nil && attributes.isEmpty }

  func query() throws(StorageError) -> CredentialQuery {
    CredentialQuery(
      service: service, account: account, attributes: try Attributes(options: attributes))
  }
}
