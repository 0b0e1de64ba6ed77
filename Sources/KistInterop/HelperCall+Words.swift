internal import KistCore

extension HelperCall {
  /// The words, of which there must be as many as there are names for them; none may be empty.
  func words(_ names: String...) throws(StorageError) -> [String] {
    guard arguments.count == names.count, !arguments.contains("") else {
      throw .wrongWords(names.joined(separator: " "))
    }
    return arguments
  }
}

extension StorageError {
  /// A tool, or a person, says something else to a helper than it can be asked.
  static func wrongWords(_ right: String) -> StorageError {
    StorageError(
      .badRequest, "the words are not as they must be", hint: "they are: \(right)")
  }

  /// There is no credential of the NAME that a helper was given.
  static func notFound(keptAs service: String, with account: String) -> StorageError {
    var error = StorageError.notFound
    error.hint = "NAME is kept as \(service): `kist save \(service) \(account)`"
    return error
  }
}
