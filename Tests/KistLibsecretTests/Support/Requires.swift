import KistKeyrings
import KistTesting
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a test where parts are missing, and says which packages bring them; under `CI` it fails.
  static func requires(_ parts: KeyringPart...) -> Self {
    let packages = KeyringPart.missingPackages(for: parts)
    return .needs(
      "the Debian packages \(packages.joined(separator: ", ")) (`make deps`)", packages.isEmpty)
  }
}
