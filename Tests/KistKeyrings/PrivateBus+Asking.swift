import Foundation

extension PrivateBus {
  /// Returns whether a program provides the Secret Service now, without activating one.
  package func hasProvider() async throws -> Bool {
    try await hasOwner("org.freedesktop.secrets")
  }

  /// Returns whether a program owns a name now.
  func hasOwner(_ name: String) async throws -> Bool {
    try await call(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", [name]
    ).text.hasPrefix("(true")
  }

  /// Returns the object path of the default collection, "/" if there is none, or `nil` without an
  /// answer.
  package func defaultCollection() async throws -> String? {
    guard try await hasProvider() else { return nil }
    let reply = try await call(
      "org.freedesktop.secrets", "/org/freedesktop/secrets",
      "org.freedesktop.Secret.Service.ReadAlias", ["default"])
    return reply.text.firstMatch(of: /'(.*)'/).map { String($0.1) }
  }

  /// Returns whether a collection is locked, or `nil` without an answer.
  package func isLocked(_ collection: String) async throws -> Bool? {
    let reply = try await call(
      "org.freedesktop.secrets", collection, "org.freedesktop.DBus.Properties.Get",
      ["org.freedesktop.Secret.Collection", "Locked"])
    return reply.text.firstMatch(of: /<(true|false)>/).map { $0.1 == "true" }
  }

  /// Returns the object paths of the items of a collection.
  package func items(of collection: String) async throws -> [String] {
    let reply = try await call(
      "org.freedesktop.secrets", collection, "org.freedesktop.DBus.Properties.Get",
      ["org.freedesktop.Secret.Collection", "Items"])
    return reply.text.matches(of: /'([^']*)'/).map { String($0.1) }
  }

  /// Calls a method with gdbus(1).
  ///
  /// The words are values in GVariant's text format.
  package func call(
    _ destination: String, _ object: String, _ method: String, _ arguments: [String]
  ) async throws -> Output {
    try await run(
      "/usr/bin/gdbus",
      [
        "call", "--session", "--timeout", "10", "--dest", destination, "--object-path", object,
        "--method", method,
      ] + arguments)
  }

  /// Waits until the default collection is unlocked, locked or missing, as requested.
  func waitUntilDefaultCollection(is expected: DefaultCollection, of provider: Program) async throws
  {
    try await poll("the default collection is \(expected)") {
      guard provider.isRunning else { throw NotInTime(description: provider.output.errors) }
      return try await stateOfDefaultCollection() == expected
    }
  }

  /// Waits until a stopped provider has left the bus, if the bus runs.
  func waitUntilNoProvider() async throws {
    try await poll("the name is free") {
      guard isRunning else { return true }
      return try await !hasProvider()
    }
  }

  private func stateOfDefaultCollection() async throws -> DefaultCollection? {
    guard let path = try await defaultCollection() else { return nil }
    if path == "/" { return .absent }
    return try await isLocked(path).map { $0 ? .locked : .unlocked }
  }
}

/// The state of the default collection.
enum DefaultCollection { case absent, locked, unlocked }
