package import KistCore

/// Where the daemon's socket is: the one rule that both ends follow.
package struct SocketLocation: Sendable, Equatable {
  /// The bytes of a path that fit in `sun_path` with its terminating NUL (unix(7)).
  package static let longestPath = 107

  /// The path of the socket, at most 107 bytes of UTF-8.
  package let path: String

  /// Takes a path; throws `badRequest` where it is none, and `tooLarge`, naming it, where the kernel
  /// would not take it.
  package init(path: String) throws(StorageError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw .badRequest("the socket path is empty or has a NUL in it")
    }
    let size = path.utf8.count
    guard size <= Self.longestPath else {
      throw StorageError(
        .tooLarge,
        "the socket path \(path) is \(size) bytes long; the limit is \(Self.longestPath)",
        hint: "name a shorter path, with --socket or in KIST_SOCKET")
    }
    self.path = path
  }

  /// Finds the socket: `$KIST_SOCKET`; else below `$XDG_RUNTIME_DIR`; else below `/run/user/UID`
  /// where that is ours; else below `~/.local/state`.
  ///
  /// A variable that is empty counts as unset, and so does a relative `$XDG_RUNTIME_DIR` (XDG Base
  /// Directory Specification). Throws `unavailable` where not even `$HOME` is set.
  package init(
    environment: (String) -> String?, uid: UInt32, isOurDirectory: (String) -> Bool
  ) throws(StorageError) {
    func value(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
    func absolute(_ name: String) -> String? { value(name).flatMap { $0.first == "/" ? $0 : nil } }

    let runtime = "/run/user/\(uid)"
    if let path = value("KIST_SOCKET") {
      try self.init(path: path)
    } else if let directory = absolute("XDG_RUNTIME_DIR") {
      try self.init(path: directory + "/kist/kist.sock")
    } else if isOurDirectory(runtime) {
      try self.init(path: runtime + "/kist/kist.sock")
    } else if let home = absolute("HOME") {
      try self.init(path: home + "/.local/state/kist/kist.sock")
    } else {
      throw StorageError(
        .unavailable, "there is no place for the socket: neither XDG_RUNTIME_DIR nor HOME is set",
        hint: "set KIST_SOCKET to the path of the socket")
    }
  }
}
