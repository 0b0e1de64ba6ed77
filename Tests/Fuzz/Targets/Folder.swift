import Glibc

/// A folder in memory, private to this process.
struct Folder: Sendable {
  private let place: String

  static let own = Folder()

  private init() {
    place = "/dev/shm/kist-fuzz-\(getpid())"
    mkdir(place, 0o700)
    atexit { Folder.own.remove() }
  }

  func path(_ name: String) -> String { "\(place)/\(name)" }

  func write(_ bytes: [UInt8], to name: String) {
    let file = open(path(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    demand(Glibc.write(file, bytes, bytes.count) == bytes.count, "a file is written")
    close(file)
  }

  /// Removes all files.
  func empty() {
    guard let folder = opendir(place) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      unlink(path(name))
    }
    closedir(folder)
  }

  private func remove() {
    empty()
    rmdir(place)
  }
}

/// The bytes of a file.
func read(_ path: String) -> [UInt8] {
  let file = open(path, O_RDONLY)
  demand(file >= 0, "there is a file \(path)")
  defer { close(file) }
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 1 << 16)
  while case let count = Glibc.read(file, &piece, piece.count), count > 0 {
    bytes += piece[..<count]
  }
  return bytes
}
