import KistKeyrings
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a test where parts are missing, and says which packages bring them; under `CI` it fails.
  static func requires(_ parts: KeyringPart...) -> Self {
    let missing = MissingKeyringParts(for: parts)
    return .enabled("\(missing?.description ?? "")") {
      guard let missing else { return true }
      return try !missing.allowsSkipping()
    }
  }
}
