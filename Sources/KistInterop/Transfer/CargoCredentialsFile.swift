internal import KistCore

/// Reads cargo's `credentials.toml`: The Cargo Book, "Configuration", "Credentials".
///
/// Each is named as if cargo had stored it with kist, by the URL of its index, which for all but
/// crates.io stands in the configuration.
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
    switch (setting.path.first, setting.path.last) {
    case ("registry", "token"), ("registries", "token"): break
    case (_, "secret-key"):
      file.leaveOut(.notALogin, at: setting.line)
      continue
    default: continue
    }
    let name = setting.path.count == 3 ? setting.path[1] : "crates-io"
    guard let index = indices[name] else {
      file.leaveOut(.unknownRegistry, at: setting.line)
      continue
    }
    let registry = CargoRegistry(indexURL: index, name: name)
    try file.add(registry.newCredential(setting.value), at: setting.line)
  }
  return file
}
