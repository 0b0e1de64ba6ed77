package import KistCore

/// A variable and its value.
package struct Setting: Sendable, Equatable {
  package var name: String
  package var value: Secret

  package init(name: String, value: Secret) {
    self.name = name
    self.value = value
  }
}

/// Returns the values of variables; for a repeated name, only the last one counts and is loaded.
package func settings(
  of variables: [Variable], from storage: UserStorage
) async throws(StorageError) -> [Setting] {
  var references = References(storage.load)
  var settings: [Setting] = []
  let last = Dictionary(
    zip(variables.map(\.name), variables.indices), uniquingKeysWith: { _, later in later })
  for (index, variable) in variables.enumerated() where last[variable.name] == index {
    switch variable.value {
    case .text(let text): settings.append(Setting(name: variable.name, value: text))
    case .reference(let reference):
      let secret = try await references.secret(of: reference, place: variable.place)
      settings.append(Setting(name: variable.name, value: secret))
    }
  }
  return settings
}
