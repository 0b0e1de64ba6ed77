internal import Glibc
internal import KistCore
internal import KistSystem

/// A file with a secret that only this user can read.
struct PrivateFile: ~Copyable {
  let descriptor: Descriptor
  /// Bytes.
  let size: Int
  let path: String
  private let what: String

  /// Opens the file; `nil` when there is none, `denied` when others could have read it.
  ///
  /// - Parameter what: the file in the words of a sentence, such as "key file".
  static func open(_ path: String, _ what: String) throws(StorageError) -> PrivateFile? {
    guard let descriptor = Descriptor.openIfPresent(path, O_RDONLY | O_NONBLOCK) else {
      switch errno {
      case ENOENT, ENOTDIR: return nil
      case EACCES:
        throw refusal(
          path, what, "may not be read",
          hint: "`chmod 600 \(shellQuoted(path))`, in a directory that you may enter")
      case ELOOP: throw refusal(path, what, "is a symbolic link", hint: "name the file itself")
      default: throw .system("opening", path: path)
      }
    }
    let status = try descriptor.status(path: path)
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw refusal(path, what, "is not a regular file", hint: "name another one")
    }
    guard status.st_uid == geteuid() else {
      throw refusal(path, what, "belongs to another user", hint: "`chown` it to the user of kistd")
    }
    // A credential of systemd has mode 400.
    guard [0o600, 0o400].contains(status.st_mode & 0o7777) else {
      throw refusal(
        path, what, "has mode \(String(status.st_mode & 0o7777, radix: 8))",
        hint: "`chmod 600 \(shellQuoted(path))`, and think about who may have read it")
    }
    return PrivateFile(
      descriptor: descriptor, size: Int(status.st_size), path: path, what: what)
  }

  /// Why the file is not taken.
  func refusal(_ why: String, hint: String) -> StorageError {
    Self.refusal(path, what, why, hint: hint)
  }

  private static func refusal(
    _ path: String, _ what: String, _ why: String, hint: String
  ) -> StorageError {
    StorageError(.denied, "the \(what) \(path) \(why)", hint: hint)
  }
}
