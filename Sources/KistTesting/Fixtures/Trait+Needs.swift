internal import Glibc
package import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a test on a machine without something that it needs, and reports that.
  ///
  /// In continuous integration, where `CI` is set, the test fails instead.
  ///
  /// - Parameters:
  ///   - part: What is needed, and for what: "root, to mount a file system".
  ///   - isThere: Whether the machine has it.
  package static func needs(
    _ part: String, _ isThere: @autoclosure @escaping @Sendable () -> Bool
  ) -> Self {
    .enabled("this needs \(part)") {
      if isThere() { return true }
      if unsafe getenv("CI") != nil { throw MissingPart(part: part) }
      return false
    }
  }

  /// Skips a test that only root can run.
  ///
  /// In continuous integration it fails instead.
  ///
  /// - Parameter purpose: What root is needed for: "to mount a file system".
  package static func needsRoot(_ purpose: String) -> Self {
    .needs("root, \(purpose)", geteuid() == 0)
  }
}

/// The missing part of a machine, for a test that may not be skipped.
package struct MissingPart: Error, CustomStringConvertible {
  var part: String

  package var description: String {
    "this machine lacks \(part); a test that needs it may not be skipped where CI is set"
  }
}
