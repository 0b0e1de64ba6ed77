internal import Glibc
package import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a test where the machine lacks what it needs, and says so; in continuous integration,
  /// where `CI` is set, it fails instead.
  ///
  /// - Parameters:
  ///   - part: what is needed, and what for: "root, to mount a file system".
  ///   - isThere: whether it is there.
  package static func needs(
    _ part: String, _ isThere: @autoclosure @escaping @Sendable () -> Bool
  ) -> Self {
    .enabled("this needs \(part)") {
      if isThere() { return true }
      if unsafe getenv("CI") != nil { throw MissingPart(part: part) }
      return false
    }
  }

  /// Skips a test that only root can run; in continuous integration it fails instead.
  ///
  /// - Parameter purpose: what root is needed for: "to mount a file system".
  package static func needsRoot(_ purpose: String) -> Self {
    .needs("root, \(purpose)", geteuid() == 0)
  }
}

/// What the machine lacks for a test that may not be skipped.
package struct MissingPart: Error, CustomStringConvertible {
  var part: String

  package var description: String {
    "this machine lacks \(part); a test that needs it may not be skipped where CI is set"
  }
}
