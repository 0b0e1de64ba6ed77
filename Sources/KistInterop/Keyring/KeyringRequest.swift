internal import KistCore

/// A request to the `keyring` command: python-keyring, keyring/cli.py.
enum KeyringRequest {
  enum Output { case password, lines, json }

  case get(service: String, username: String?, Output)
  case set(CredentialKey)
  case delete(CredentialKey)

  init(reading arguments: [String]) throws(StorageError) {
    var words: [String] = []
    var (isPair, isJSON) = (false, false)
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word != "-" else {
        words.append(word)
        continue
      }
      // An option's value may be the next word, or follow an equals sign.
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      switch (parts[0], parts.count == 2 ? parts[1] : rest.popFirst()) {
      case ("--mode", "creds"): isPair = true
      case ("--mode", "password"): isPair = false
      case ("--output", "json"): isJSON = true
      case ("--output", "plain"): isJSON = false
      default: throw .badRequest("unrecognized arguments")
      }
    }
    switch (words.first, words.count) {
    case ("get", 2) where isPair:
      self = .get(service: words[1], username: nil, isJSON ? .json : .lines)
    case ("get", 3) where isPair:
      self = .get(service: words[1], username: words[2], isJSON ? .json : .lines)
    case ("get", 3) where !isJSON: self = .get(service: words[1], username: words[2], .password)
    case ("set", 3): self = .set(CredentialKey(service: words[1], account: words[2]))
    case ("del", 3): self = .delete(CredentialKey(service: words[1], account: words[2]))
    default:
      throw StorageError(
        .badRequest, "the words are not as they must be",
        hint: "they are: [--mode creds [--output json]] get|set|del SERVICE USERNAME")
    }
  }
}
