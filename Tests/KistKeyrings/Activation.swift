import Foundation

/// The program that a bus starts when a client calls the Secret Service and no program provides it.
package enum Activation: Sendable {
  /// A program that exits at once with a status.
  case exits(Int)
  /// A program that runs but never owns the name.
  case hangs
  /// A command whose words contain no blanks.
  case command([String])
  /// The same, as `kist setup secret-service` sets up kist's own provider.
  case ofKist([String])

  func plant(in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in names {
      try """
      [D-BUS Service]
      Name=\(name)
      Exec=\(words.joined(separator: " "))

      """.write(toFile: "\(folder)/\(name).service", atomically: false, encoding: .utf8)
    }
  }

  private var names: [String] {
    if case .ofKist = self { return ["org.freedesktop.secrets", "io.kist.SecretService"] }
    return ["org.freedesktop.secrets"]
  }

  private var words: [String] {
    switch self {
    case .exits(let status): ["/bin/sh", "-c", "\"exit \(status)\""]
    case .hangs: ["/usr/bin/sleep", "600"]
    case .command(let words), .ofKist(let words): words
    }
  }
}
