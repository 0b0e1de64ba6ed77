import Foundation

/// What a bus starts when a client asks for the Secret Service and nobody provides it.
package enum Activation: Sendable {
  /// A program that fails at once, with this status.
  case exits(Int)
  /// A program that runs and never takes the name.
  case hangs
  /// A command, each word without blanks.
  case command([String])

  func plant(in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try """
    [D-BUS Service]
    Name=org.freedesktop.secrets
    Exec=\(words.joined(separator: " "))

    """.write(
      toFile: folder + "/org.freedesktop.secrets.service", atomically: false, encoding: .utf8)
  }

  private var words: [String] {
    switch self {
    case .exits(let status): ["/bin/sh", "-c", "\"exit \(status)\""]
    case .hangs: ["/usr/bin/sleep", "600"]
    case .command(let words): words
    }
  }
}
