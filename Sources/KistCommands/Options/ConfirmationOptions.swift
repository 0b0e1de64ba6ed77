internal import ArgumentParser

/// Whether a person has said already that it may be done.
struct ConfirmationOptions: ParsableArguments {
  @Flag(help: "Do not ask whether there is to be only one way in.")
  var yes = false
}
