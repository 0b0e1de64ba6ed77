import KistKeyrings
import KistTesting
import Testing

/// Runs a test with an unlocked gnome-keyring, in a home whose programs find its bus.
///
/// If the keyring ends before the test, the test fails and reports how the keyring ended, unless the
/// test ends the keyring or its bus itself.
///
/// - Parameters:
///   - startsKistd: Whether the programs start kistd by themselves.
///   - activation: The program that the bus starts when the keyring has ended.
func withKeyring(
  mayEnd: Bool = false, startsKistd: Bool = false, activation: Activation? = nil,
  _ body: (Home, PrivateBus, GnomeKeyring) async throws -> Void
) async throws {
  try await withPrivateBus(activation: activation) { bus in
    let keyring = try await GnomeKeyring(.password("pw"), on: bus)
    try await withHome { home in
      var home = home
      home.busAddress = bus.address
      home.startsKistd = startsKistd
      defer {
        if !mayEnd, let ending = keyring.ending { Issue.record("the keyring ended: \(ending)") }
      }
      try await body(home, bus, keyring)
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test if no keyring can be started; in continuous integration, the test fails instead.
  static var needsKeyring: Self {
    let packages = KeyringPart.missingPackages(
      for: [.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool])
    return .needs(
      "the Debian packages \(packages.joined(separator: ", ")), to run a keyring", packages.isEmpty)
  }
}
