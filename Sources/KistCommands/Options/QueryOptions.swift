internal import ArgumentParser
internal import KistCore

/// Which credentials are meant; all of them where nothing is said.
struct QueryOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Only credentials of this service.", valueName: "service"))
  var service: String?

  @Option(help: ArgumentHelp("Only credentials of this account.", valueName: "account"))
  var account: String?

  @Option(
    name: .customLong("attribute"),
    help: ArgumentHelp("Only credentials that have it; may be repeated.", valueName: "name=value"))
  var attributes: [String] = []

  /// Whether nothing is said, so that all of them are meant.
  var meansAll: Bool { service == nil && account == nil && attributes.isEmpty }

  func query() throws(StorageError) -> CredentialQuery {
    CredentialQuery(
      service: service, account: account, attributes: try Attributes(options: attributes))
  }
}
