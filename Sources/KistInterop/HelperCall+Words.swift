internal import KistCore

extension HelperCall {
  /// Returns the words; throws unless there is one for each name and none is empty.
  func words(_ names: String...) throws(StorageError) -> [String] {
    guard arguments.count == names.count, !arguments.contains("") else {
      throw .wrongWords(names.joined(separator: " "))
    }
    return arguments
  }
}

extension StorageError {
  /// Returns the error for words that a helper does not accept.
  static func wrongWords(_ right: String) -> StorageError {
    StorageError(
      .badRequest, "the words are not as they must be", hint: "they are: \(right)")
  }

  /// Returns the error for a NAME without a credential.
  static func notFound(keptAs service: String, with account: String) -> StorageError {
    var error = StorageError.notFound
    error.hint = "NAME is kept as \(service): `kist save \(service) \(account)`"
    return error
  }
}
