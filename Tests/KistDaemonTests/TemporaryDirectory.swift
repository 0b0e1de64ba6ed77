import Foundation

/// Lends a new directory of mode 0700 for the length of a call.
func withDirectory(_ body: nonisolated(nonsending) (String) async throws -> Void) async throws {
  let directory = "/tmp/kistd-\(UUID().uuidString.prefix(8))"
  try FileManager.default.createDirectory(
    atPath: directory, withIntermediateDirectories: false,
    attributes: [.posixPermissions: 0o700])
  defer { try? FileManager.default.removeItem(atPath: directory) }
  try await body(directory)
}

/// The permission bits of a file; `nil` where there is none.
func mode(of path: String) -> mode_t? {
  var status = stat()
  return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func text(of path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
