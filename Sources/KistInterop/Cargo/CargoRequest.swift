internal import KistCore
internal import KistJSON

/// What cargo asks in one line: cargo's reference, "Credential Provider Protocol", version 1.
enum CargoRequest {
  case get(CargoRegistry)
  /// Without a token, the provider is to ask for it.
  case login(CargoRegistry, token: Secret?, url: String?)
  case logout(CargoRegistry)
  /// What a newer cargo may ask.
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

/// A registry, known by the URL of its index.
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

  /// What is saved of a token for it.
  func newCredential(_ token: Secret) -> NewCredential {
    NewCredential(
      key: key, secret: token, label: name.map { "cargo registry \($0)" },
      attributes: [Attributes.toolName: Tool.cargo.rawValue])
  }
}
