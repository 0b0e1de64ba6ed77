internal import ArgumentParser
internal import KistCore

/// The option that limits which services references may name.
struct OnlyOptions: ParsableArguments {
  @Option(
    name: .customLong("only"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Refuse references to other services; may be repeated.", valueName: "service"))
  var services: [String] = []

  /// Returns the services; throws `badRequest` for one that no reference can name.
  func checked() throws(StorageError) -> [String] {
    guard services.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("kist://") }) else {
      throw StorageError(
        .badRequest, "--only: this is not the name of a service",
        hint: "name the service alone, such as `--only db.example`", outcome: .unchanged)
    }
    return services
  }
}
