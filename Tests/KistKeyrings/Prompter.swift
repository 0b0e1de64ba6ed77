/// The program that shows the prompts of gnome-keyring, on a virtual screen.
package struct Prompter: Sendable {
  private static let name = "org.gnome.keyring.SystemPrompter"

  /// The screen that shows them.
  package let screen: Screen

  /// Starts it and returns once it can show prompts.
  package init(on bus: PrivateBus) async throws {
    screen = try await Screen(in: bus.session)
    let program = try bus.start(
      "/usr/libexec/gcr-prompter", [],
      environment: ["DISPLAY": screen.name, "NO_AT_BRIDGE": "1"])
    try await poll("the prompter can be asked") {
      guard program.isRunning else { throw NotInTime(description: program.output.errors) }
      return try await bus.hasOwner(Self.name)
    }
  }
}
