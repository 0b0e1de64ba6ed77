package import KistCore

/// The path of kistd's socket; kistd and its clients find it by the same rule.
package struct SocketLocation: Sendable, Equatable {
  /// The maximum number of bytes of a path: `sun_path` also holds a NUL after it (unix(7)).
  package static let longestPath = 107

  /// The path of the socket, at most 107 bytes of UTF-8.
  package let path: String

  /// Checks a path; throws `badRequest` if it is empty or has a NUL, `tooLarge` if it is too long.
  package init(path: String) throws(StorageError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw .badRequest("the socket path is empty or contains a NUL")
    }
    let size = path.utf8.count
    guard size <= Self.longestPath else {
      throw StorageError(
        .tooLarge,
        "the socket path \(path) is \(size) bytes long; the limit is \(Self.longestPath)",
        hint: "give a shorter path, with --socket or in KIST_SOCKET")
    }
    self.path = path
  }

  /// Chooses the path: `$KIST_SOCKET`, or else `kist/kist.sock` in the first of these directories.
  ///
  /// - `$XDG_RUNTIME_DIR`
  /// - `/run/user/UID`, if this directory belongs to this user
  /// - `~/.local/state`
  ///
  /// An empty variable counts as unset. `$XDG_RUNTIME_DIR` and `$HOME` also count as unset if they
  /// contain a relative path. Throws `unavailable` if none of these gives a path.
  package init(
    environment: (String) -> String?, uid: UInt32, isOurDirectory: (String) -> Bool
  ) throws(StorageError) {
    func value(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
    func absolute(_ name: String) -> String? { value(name).flatMap { $0.first == "/" ? $0 : nil } }

    func directory() -> String? {
      let runtime = "/run/user/\(uid)"
      return absolute("XDG_RUNTIME_DIR") ?? (isOurDirectory(runtime) ? runtime : nil)
        ?? absolute("HOME").map { $0.appendingPath(".local/state") }
    }
    guard let path = value("KIST_SOCKET") ?? directory().map({ $0.appendingPath("kist/kist.sock") })
    else {
      throw StorageError(
        .unavailable, "there is no place for the socket: neither XDG_RUNTIME_DIR nor HOME is set",
        hint: "set HOME to your home directory")
    }
    try self.init(path: path)
  }
}
