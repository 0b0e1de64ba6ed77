internal import Glibc
internal import KistCore
package import KistWire

extension SocketLocation {
  /// Where this user's daemon listens, by the environment of this process.
  package static func current(
    environment: (String) -> String? = environmentVariable
  ) throws(StorageError) -> SocketLocation {
    let uid = geteuid()
    return try SocketLocation(environment: environment, uid: uid) { path in
      var status = stat()
      return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        && status.st_uid == uid
    }
  }
}

/// The value of a variable in this process's environment.
package func environmentVariable(_ name: String) -> String? {
  unsafe getenv(name).map { unsafe String(cString: $0) }
}
