internal import KistCore

extension CredentialReference {
  /// Reads the bytes of a reference; `nil` where they are none.
  init?(reading bytes: Span<UInt8>) {
    guard let text = String(validating: bytes) else { return nil }
    self.init(text)
  }
}

/// Whether bytes begin as a reference does, and so mean to be one.
func isReference(_ bytes: Span<UInt8>) -> Bool { bytes.hasPrefix("kist://") }

extension StorageError {
  /// What stands where a reference must is none.
  static func badReference(at place: String) -> StorageError {
    StorageError(
      .badRequest, "\(place) has no reference kist://SERVICE/ACCOUNT",
      hint: "name one that was saved: begin with kist://, and percent-encode all but letters, "
        + "digits and -._~")
  }

  /// What is wrong with the one credential that was asked for there; what is wrong with all of them
  /// stays as it is.
  func at(_ place: String) -> StorageError {
    guard [.notFound, .expired, .badRequest, .tooLarge, .corrupt].contains(code) else {
      return self
    }
    var error = orSaveAnew
    error.message = "\(place): \(message)"
    return error
  }
}
