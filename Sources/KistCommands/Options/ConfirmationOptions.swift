internal import ArgumentParser

/// The option that confirms in advance.
struct ConfirmationOptions: ParsableArguments {
  @Flag(help: "Do not ask whether only one key slot may remain.")
  var yes = false
}
