internal import ArgumentParser
internal import KistCore

/// The options for the source of the secret.
struct SecretOptions: ParsableArguments {
  @Flag(help: "Keep the newline at the end of standard input.")
  var exact = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Save a random secret of 8 to 1024 letters and digits.", valueName: "length"))
  var generate: String?

  /// Returns the secret: typed, piped in, or generated here.
  func secret(from terminal: Terminal) throws(StorageError) -> Secret {
    guard let generate else { return try terminal.newSecret(exact: exact) }
    guard !exact else { throw .badRequest("--exact and --generate exclude each other") }
    guard let length = Int(generate), RandomSecret.lengths.contains(length) else {
      throw .badRequest("--generate is not a length from 8 to 1024")
    }
    return RandomSecret.make(length: length)
  }
}
