internal import Glibc
package import KistCore
package import KistSodium
internal import KistSystem

/// A file with a secret that only this user can read.
struct PrivateFile: ~Copyable {
  let descriptor: Descriptor
  /// The size in bytes.
  let size: Int
  let path: String
  private let what: String

  /// Opens the file; `nil` when there is none; throws `denied` when others could have read it.
  ///
  /// - Parameter what: the name of the file in an error, such as "key file".
  static func open(_ path: String, _ what: String) throws(StorageError) -> PrivateFile? {
    let descriptor: Descriptor
    do throws(UnfitFile) { descriptor = try Descriptor.openOwn(path, O_RDONLY) } catch {
      if error.isMissing { return nil }
      throw .unfit(error, what, path)
    }
    let status = try descriptor.status(path: path)
    let file = PrivateFile(
      descriptor: descriptor, size: Int(status.st_size), path: path, what: what)
    // A credential of systemd has mode 400.
    guard [0o600, 0o400].contains(status.permissions) else {
      throw file.refusal(
        "has mode \(String(status.permissions, radix: 8))",
        hint: "`chmod 600 \(shellQuoted(path))`, and consider who may have read it")
    }
    return file
  }

  /// Returns the error for a refused file.
  func refusal(_ why: String, hint: String) -> StorageError {
    StorageError(.denied, "the \(what) \(path) \(why)", hint: hint)
  }
}

/// A key file: exactly 32 raw bytes that only this user can read.
enum KeyFile {
  /// Reads the key; returns `nil` and throws as `PrivateFile.open` does.
  static func read(_ path: String) throws(StorageError) -> GuardedKey? {
    guard let file = try PrivateFile.open(path, "key file") else { return nil }
    guard file.size == GuardedKey.size else {
      throw file.refusal(
        "has \(file.size) bytes instead of \(GuardedKey.size)",
        hint: "put the right key file back; kistd makes a key file only with a new store")
    }
    return try GuardedKey { output throws(StorageError) in
      try file.descriptor.read(into: &output, path: path)
      if !output.isFull {
        throw file.refusal("was truncated while kistd read it", hint: "try again")
      }
    }
  }

  /// Creates a file with a random key; the file is complete and on disk when this returns.
  ///
  /// A file that another process created meanwhile is kept, because a store may need it; its key is
  /// returned.
  static func create(_ path: String) throws(StorageError) -> GuardedKey {
    try prepareDirectory(of: path)
    let key = try GuardedKey.random()
    let isOurs = try key.withBytes { bytes throws(StorageError) in
      try writeWhole(bytes, to: path, replacing: false)
    }
    if isOurs { return key }
    guard let existing = try read(path) else {
      throw StorageError(
        .denied, "the key file \(path) was removed while it was read", hint: "try again")
    }
    return existing
  }
}

extension EncryptedFile {
  /// Throws where a key file is missing, or where kistd could not read a key from it.
  package static func checkKeyFile(_ path: String) throws(StorageError) {
    guard try KeyFile.read(path) != nil else {
      throw StorageError(
        .badRequest, "the key file \(path) is missing",
        hint: "check the path; a command that uses a running kistd needs no key file")
    }
  }
}

extension EncryptedFile {
  /// Returns the key in a key file, with which a machine proves to a shared vault what it is.
  ///
  /// Throws `unavailable` where there is none, and `denied` where others could have read it.
  package static func machineKey(at path: String) throws(StorageError) -> GuardedKey {
    guard let key = try KeyFile.read(path) else {
      throw StorageError(
        .unavailable, "the key file of this machine, \(path), is missing",
        hint: "bring it back from a backup; `kistd vault identity` makes one for a new machine")
    }
    return key
  }

  /// Returns the key in a key file as `machineKey` does; makes the file if there is none.
  package static func newMachineKey(at path: String) throws(StorageError) -> GuardedKey {
    if let key = try KeyFile.read(path) { return key }
    return try KeyFile.create(path)
  }

  /// Returns the content of a file that only this user can read; `nil` where there is none.
  ///
  /// Throws `tooLarge` if it has more than `limit` bytes.
  package static func privateBytes(
    at path: String, _ what: String, limit: Int
  ) throws(StorageError) -> [UInt8]? {
    guard let file = try PrivateFile.open(path, what) else { return nil }
    guard file.size <= limit else {
      throw .refused("the \(what) \(path) has more than \(limit) bytes", as: .tooLarge)
    }
    return try file.descriptor.bytes(upTo: limit, path: path)
  }
}

/// A file with a passphrase that only this user can read, such as a credential of systemd.
enum PassphraseFile {
  /// Reads the passphrase without its final newline; else returns and throws as `PrivateFile.open`.
  static func read(_ path: String) throws(StorageError) -> Secret? {
    guard let file = try PrivateFile.open(path, "passphrase file") else { return nil }
    // One byte more than a passphrase with a newline may have, to detect one that is too long.
    let room = Limits.passphrase + Secret.longestNewline + 1
    let passphrase = try file.descriptor.secret(upTo: room, path: path).withoutNewline
    guard passphrase.count <= Limits.passphrase else {
      throw StorageError(
        .tooLarge, "the passphrase file \(path) has more than \(Limits.passphrase) bytes",
        hint: "name a file that has only the passphrase")
    }
    return passphrase
  }
}
