internal import KistCore
internal import KistJSON

/// A request of cargo, one line: cargo's reference, "Credential Provider Protocol", version 1.
enum CargoRequest {
  case get(CargoRegistry)
  /// Without a token, the provider asks for it.
  case login(CargoRegistry, token: Secret?, url: String?)
  case logout(CargoRegistry)
  /// A request of a newer cargo.
  case other

  init(reading line: Secret) throws(StorageError) {
    do throws(JSONError) {
      let object = try JSONObject(line)
      let version = try object.required("v")
      guard try version.integer() == 1 else { throw version.error("must be 1") }
      let registry = try CargoRegistry(reading: object.required("registry").object())
      switch try object.required("kind").string() {
      case "get":
        let operations = ["read", "publish", "yank", "unyank", "owners"]
        let operation = try object.required("operation").string()
        self = operations.contains(operation) ? .get(registry) : .other
      case "login":
        self = .login(
          registry, token: try object["token"]?.secret(), url: try object["login-url"]?.string())
      case "logout": self = .logout(registry)
      default: self = .other
      }
    } catch {
      throw StorageError(error)
    }
  }
}

/// A registry, identified by the URL of its index.
struct CargoRegistry {
  let indexURL: String
  let name: String?

  init(indexURL: String, name: String?) {
    self.indexURL = indexURL
    self.name = name
  }

  init(reading object: JSONObject) throws(JSONError) {
    indexURL = try object.required("index-url").string()
    name = try object["name"]?.string()
  }

  var key: CredentialKey { CredentialKey(service: "cargo:" + indexURL) }

  /// Returns the credential to save for a token of this registry.
  func newCredential(_ token: Secret) -> NewCredential {
    NewCredential(
      key: key, secret: token, label: name.map { "cargo registry \($0)" },
      attributes: [Attributes.toolName: Tool.cargo.rawValue])
  }
}
