internal import KistCore

extension Attributes {
  /// Reads what was given with `--attribute NAME=VALUE`, once for each.
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
