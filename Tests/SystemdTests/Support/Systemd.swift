import Foundation
import KistTesting
import Testing

/// A version of systemd to boot.
enum Systemd: Int, CaseIterable, CustomTestStringConvertible, Sendable {
  /// Of Debian 12.
  case version252 = 252
  /// Of Debian 13.
  case version257 = 257

  var testDescription: String { "systemd \(rawValue)" }

  /// The tree that `make test-systemd` made of it; `nil` where it is not run.
  var tree: String? { ProcessInfo.processInfo.environment["KIST_SYSTEMD_\(rawValue)"] }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test where no systemd can be booted; in continuous integration it fails instead.
  static var needsSystemd: Self {
    .needs(
      "root and the trees of systemd that `make test-systemd` makes, to boot them",
      geteuid() == 0 && Systemd.allCases.allSatisfy { $0.tree != nil })
  }
}
