internal import KistCore
internal import KistJSON

/// The two encodings of a secret in a line.
enum SecretEncoding: String, Sendable {
  /// As text, in `secret`.
  case text
  /// In base64, in `secretBase64`.
  case base64
}

extension JSONWriter {
  /// Writes a secret as text if it is UTF-8 without NUL and not longer than in base64.
  mutating func member(secret: Secret) {
    let count = secret.withBytes(textCount(of:))
    if let count, count <= base64Count(of: secret.count) {
      member("secret", text: secret)
    } else {
      member("secretBase64", base64: secret)
    }
  }

  /// Writes a secret in the requested encoding.
  mutating func member(
    secret: Secret, as encoding: SecretEncoding?
  ) throws(StorageError) {
    switch encoding {
    case nil: member(secret: secret)
    case .base64: member("secretBase64", base64: secret)
    case .text:
      guard secret.withBytes(textCount(of:)) != nil else {
        throw StorageError(
          .badRequest, "the secret is not text", hint: "ask for it with `\"encoding\":\"base64\"`")
      }
      member("secret", text: secret)
    }
  }
}

extension JSONObject {
  /// Returns the bytes of a secret from exactly one of its two encodings.
  func secret() throws(JSONError) -> Secret {
    switch (self["secret"], self["secretBase64"]) {
    case (let text?, nil): try text.secret()
    case (nil, let base64?): try base64.base64()
    case (let text?, _?): throw text.error("and `secretBase64` are both there")
    case (nil, nil): throw .key("secret", "is missing, and so is `secretBase64`")
    }
  }
}

extension JSONValue {
  func secretEncoding() throws(JSONError) -> SecretEncoding {
    guard let encoding = SecretEncoding(rawValue: try string()) else {
      throw error("must be `text` or `base64`")
    }
    return encoding
  }
}
