internal import KistCore

/// Reads cargo's `credentials.toml`: The Cargo Book, "Configuration", "Credentials".
///
/// Credentials get the same names as if cargo had stored them with kist: the URL of the registry's
/// index. Except for crates.io, that URL is in the configuration.
func cargoCredentials(
  in text: Secret, configuration: Secret?
) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials()
  var indices = ["crates-io": "https://github.com/rust-lang/crates.io-index"]
  if let configuration {
    for setting in try tomlStrings(in: configuration, "cargo's configuration, line") {
      guard setting.path.count == 3, setting.path[0] == "registries", setting.path[2] == "index"
      else { continue }
      indices[setting.path[1]] = setting.value.validText
    }
  }
  for setting in try tomlStrings(in: text, "line") {
    let name = registry(ofToken: setting.path)
    switch (setting.path.last, name, name.flatMap { indices[$0] }) {
    case ("secret-key", _, _): file.leaveOut(.notALogin, at: setting.line)
    case ("token", nil, _): file.leaveOut(.misplaced, at: setting.line)
    case ("token", _, nil): file.leaveOut(.unknownRegistry, at: setting.line)
    case ("token", let name?, let index?):
      let registry = CargoRegistry(indexURL: index, name: name)
      try file.add(registry.newCredential(setting.value), at: setting.line)
    default: break
    }
  }
  return file
}

/// Returns the registry whose token is at a path; `nil` if cargo does not use it, as with a name
/// that contains a full stop and is not in quotes.
private func registry(ofToken path: [String]) -> String? {
  if path == ["registry", "token"] { return "crates-io" }
  return path.count == 3 && path[0] == "registries" ? path[1] : nil
}
