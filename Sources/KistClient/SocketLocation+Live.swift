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
      fileStatus(of: path).map { $0.isKind(S_IFDIR) && $0.st_uid == uid } ?? false
    }
  }
}
