internal import Glibc
internal import KistCore
internal import KistSystem

/// A file with a secret that only this user can read.
struct PrivateFile: ~Copyable {
  let descriptor: Descriptor
  /// The size in bytes.
  let size: Int
  let path: String
  private let what: String

  /// Opens the file; `nil` when there is none.
  ///
  /// Throws `denied` when others could have read it.
  ///
  /// - Parameter what: the name of the file in an error, such as "key file".
  static func open(_ path: String, _ what: String) throws(StorageError) -> PrivateFile? {
    let descriptor: Descriptor
    do throws(UnfitFile) { descriptor = try Descriptor.openOwn(path, O_RDONLY) } catch {
      if error.isMissing { return nil }
      throw .unfit(error, what, path)
    }
    let status = try descriptor.status(path: path)
    // A credential of systemd has mode 400.
    guard [0o600, 0o400].contains(status.st_mode & 0o7777) else {
      throw refusal(
        path, what, "has mode \(String(status.st_mode & 0o7777, radix: 8))",
        hint: "`chmod 600 \(shellQuoted(path))`, and think about who may have read it")
    }
    return PrivateFile(
      descriptor: descriptor, size: Int(status.st_size), path: path, what: what)
  }

  /// Returns the error for a refused file.
  func refusal(_ why: String, hint: String) -> StorageError {
    Self.refusal(path, what, why, hint: hint)
  }

  private static func refusal(
    _ path: String, _ what: String, _ why: String, hint: String
  ) -> StorageError {
    StorageError(.denied, "the \(what) \(path) \(why)", hint: hint)
  }
}
