package import KistCore

extension Libsecret {
  /// The items of other programs that have one of these sets of attributes, and their values, as they
  /// are stored.
  ///
  /// A keyring that is locked asks for its password.
  package static func foreignItems(
    with searches: [[String: String]], _ options: Options
  ) async throws(StorageError) -> [(attributes: [String: String], value: Secret)] {
    let keyring = Keyring(options)
    do throws(StorageError) {
      if try await keyring.status().isLocked { _ = try await keyring.unlock(nil) }
      let items = try await keyring.foreignItems(with: searches)
      await keyring.close()
      return items
    } catch {
      await keyring.close()
      throw error
    }
  }
}

extension Keyring {
  fileprivate func foreignItems(
    with searches: [[String: String]]
  ) async throws(StorageError) -> [(attributes: [String: String], value: Secret)] {
    try await perform { deadline in
      try await asking(by: deadline) { service in
        var items: [(attributes: [String: String], value: Secret)] = []
        for search in searches {
          let found = try await service.found(with: search, by: deadline) { ($0, $1) }
          for (path, attributes) in found {
            if let value = try await service.value(of: path, by: deadline) {
              items.append((attributes, value))
            }
          }
        }
        return items
      }
    }
  }
}
