internal import Glibc
internal import KistCore
internal import KistFile
internal import KistSystem

extension StorageError {
  /// What the system refused to do, read from `errno`.
  static func failed(_ action: String, _ path: String, hint: String) -> StorageError {
    let number = errno
    let code = Code(errno: number)
    return StorageError(
      code, "cannot \(action) \(path): \(systemText(of: number))",
      hint: code == .full ? "free some space and try again" : hint)
  }
}
