internal import KistCore

extension Attributes {
  /// Reads the values of `--attribute NAME=VALUE`.
  init(options: [String]) throws(StorageError) {
    self.init()
    for option in options {
      guard let separator = option.firstIndex(of: "="), separator > option.startIndex else {
        throw .badRequest("an attribute is not NAME=VALUE")
      }
      let name = String(option[..<separator])
      guard self[name] == nil else { throw .badRequest("an attribute is given twice") }
      self[name] = String(option[option.index(after: separator)...])
    }
  }
}
