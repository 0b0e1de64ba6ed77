import KistKeyrings
import KistTesting
import Testing

/// Runs a test with an unlocked gnome-keyring, in a home whose programs find its bus.
func withKeyring(
  _ body: (Home, PrivateBus, GnomeKeyring) async throws -> Void
) async throws {
  try await withPrivateBus { bus in
    let keyring = try await GnomeKeyring(.password("pw"), on: bus)
    try await withHome { home in
      var home = home
      home.busAddress = bus.address
      try await body(home, bus, keyring)
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test where no keyring can be started; in continuous integration it fails instead.
  static var needsKeyring: Self {
    let missing = MissingKeyringParts(for: [.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool])
    let packages = missing?.packages.joined(separator: ", ") ?? ""
    return .needs("the Debian packages \(packages), to run a keyring", missing == nil)
  }
}
