internal import ArgumentParser
internal import KistCore

/// The flag for short passphrases.
struct WeakOption: ParsableArguments {
  @Flag(help: "Allow a new passphrase of fewer than \(Limits.shortestNewPassphrase) bytes.")
  var weak = false
}
