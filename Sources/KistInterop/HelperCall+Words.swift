internal import KistCore

extension HelperCall {
  /// The words, of which there must be as many as there are names for them; none may be empty.
  func words(_ names: String...) throws(StorageError) -> [String] {
    guard arguments.count == names.count, !arguments.contains("") else {
      throw StorageError(
        .badRequest, "the words are not as they must be",
        hint: "they are: \(names.joined(separator: " "))")
    }
    return arguments
  }
}
