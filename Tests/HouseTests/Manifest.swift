import Foundation

/// A target as the manifest declares it.
struct ManifestTarget {
  let name: String
  let type: String
  let dependencies: [String]
}

/// Returns the targets of this package, as the package manager reads them from the manifest.
func manifestTargets() throws -> [ManifestTarget] {
  let dump = Process()
  dump.executableURL = URL(filePath: "/usr/bin/env")
  // A separate scratch path, as the test run has locked the build folder.
  let scratch = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())")
  defer { try? FileManager.default.removeItem(at: scratch) }
  dump.arguments = [
    "swift", "package", "--package-path", packageRoot.path, "--scratch-path", scratch.path,
    "dump-package",
  ]
  let output = Pipe()
  dump.standardOutput = output
  try dump.run()
  let json = try output.fileHandleForReading.readToEnd() ?? Data()
  dump.waitUntilExit()
  return try JSONDecoder().decode(Manifest.self, from: json).targets.map { target in
    ManifestTarget(
      name: target.name, type: target.type,
      dependencies: target.dependencies.flatMap { $0.values.map(\.name) })
  }
}

private struct Manifest: Decodable {
  struct Target: Decodable {
    let name: String
    let type: String
    /// `{"byName": [NAME, …]}` or `{"product": [NAME, PACKAGE, …]}`.
    let dependencies: [[String: FirstElement]]
  }

  struct FirstElement: Decodable {
    let name: String

    init(from decoder: any Decoder) throws {
      var elements = try decoder.unkeyedContainer()
      name = try elements.decode(String.self)
    }
  }

  let targets: [Target]
}
