import Foundation
import KistTesting
import Testing

/// A version of systemd to boot.
enum Systemd: Int, CaseIterable, CustomTestStringConvertible, Sendable {
  /// The version of Debian 12.
  case version252 = 252
  /// The version of Debian 13.
  case version257 = 257

  var testDescription: String { "systemd \(rawValue)" }

  /// The root directory that `make test-systemd` built for it, or `nil` without that.
  var tree: String? { ProcessInfo.processInfo.environment["KIST_SYSTEMD_\(rawValue)"] }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test if no systemd can be booted; in continuous integration, the test fails instead.
  static var needsSystemd: Self {
    .needs(
      "root and the trees of systemd that `make test-systemd` makes, to boot them",
      geteuid() == 0 && Systemd.allCases.allSatisfy { $0.tree != nil })
  }
}
