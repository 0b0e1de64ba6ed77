internal import KistCore

extension CredentialReference {
  /// Reads the bytes of a reference; returns `nil` if they are not a reference.
  init?(reading bytes: Span<UInt8>) {
    guard let text = String(validating: bytes) else { return nil }
    self.init(text)
  }
}

/// Whether bytes begin like a reference, and so are meant to be one.
func isReference(_ bytes: Span<UInt8>) -> Bool { bytes.hasPrefix("kist://") }

extension StorageError {
  /// Returns the error for a missing or invalid reference.
  static func badReference(at place: String) -> StorageError {
    StorageError(
      .badRequest, "\(place) has no reference kist://SERVICE/ACCOUNT",
      hint: "name one that was saved: begin with kist://, and percent-encode all but letters, "
        + "digits and -._~")
  }

  /// Adds the place to an error about one credential; returns errors about the storage unchanged.
  func at(_ place: String) -> StorageError {
    guard [.notFound, .expired, .badRequest, .tooLarge, .corrupt].contains(code) else {
      return self
    }
    var error = orSaveAnew
    error.message = "\(place): \(message)"
    return error
  }
}
