package import KistCore

/// Returns the key under which kist saves the credential that a program keeps in an item with these
/// attributes; `nil` if the program's attributes are not known.
package func naturalKey(ofItemWith attributes: [String: String]) -> CredentialKey? {
  switch attributes["xdg:schema"] {
  case "io.kist.Credential":
    guard let service = attributes["service"], let account = attributes["account"] else {
      return nil
    }
    return CredentialKey(service: service, account: account)
  default:
    guard let service = attributes["service"], let account = attributes["username"] else {
      return nil
    }
    return CredentialKey(service: service, account: account)
  }
}
