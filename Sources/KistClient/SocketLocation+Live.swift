internal import Glibc
internal import KistCore
internal import KistSystem
package import KistWire

extension SocketLocation {
  /// Returns where this user's kistd listens, according to the environment of this process.
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
