import Foundation
import Testing

/// A thing that is not a file of the store alone.
enum Plant: CaseIterable {
  case fifo, folder, link, hardLink

  var clause: String {
    switch self {
    case .fifo, .folder, .link: "is not a regular file"
    case .hardLink: "is a hard link"
    }
  }

  func put(at path: String, linkedTo other: String) throws {
    let manager = FileManager.default
    switch self {
    case .fifo: try #require(unsafe mkfifo(path, 0o600) == 0)
    case .folder: try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .link: try manager.createSymbolicLink(atPath: path, withDestinationPath: other)
    case .hardLink: try manager.linkItem(atPath: other, toPath: path)
    }
  }
}

/// The number of the file at a path, which may be a link.
func fileNumber(_ path: String) throws -> ino_t {
  var status = stat()
  try #require(unsafe lstat(path, &status) == 0)
  return status.st_ino
}
