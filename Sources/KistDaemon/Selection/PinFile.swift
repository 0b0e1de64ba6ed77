internal import Glibc
package import KistCore
internal import KistFile
internal import KistSystem

/// The file that says where credentials are kept.
package struct PinFile: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// Reads it; `nil` when there is none.
  package func read() throws(StorageError) -> Pin? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw .failed("read", path, hint: Self.hint)
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .failed("read", path, hint: Self.hint) }
    return try Pin(String(decoding: bytes.prefix(count), as: UTF8.self), at: path)
  }

  /// Reads it; throws `unavailable`, with what to do then, where credentials are kept in the keyring.
  func readOfEncryptedFile(orElse hint: String) throws(StorageError) -> Pin? {
    let pin = try read()
    guard let pin, pin.kind != .encryptedFile else { return pin }
    throw StorageError(
      .unavailable, "credentials are kept in \(pin.kind.name); this is for the encrypted file",
      hint: hint)
  }

  /// Of a pin that names two stores the one that is there, written down.
  func settled(_ pin: Pin, on file: EncryptedFile.Presence) -> Pin {
    let settled = pin.settled(on: file)
    // Until that can be written, each start finds it so.
    if settled != pin { try? write(settled, insteadOf: pin) }
    return settled
  }

  /// Writes it: when this returns, it is on disk, whole.
  ///
  /// The first one is never replaced by another first one: of two daemons that begin at once, one
  /// throws `unavailable`.
  package func write(_ pin: Pin, insteadOf previous: Pin?) throws(StorageError) {
    try makeDirectory(directory(of: path), hint: Self.hint)
    do throws(StorageError) {
      let bytes = Array(pin.text.utf8)
      if try writeWhole(bytes.span, to: path, replacing: previous != nil) { return }
    } catch {
      var error = error
      error.message += "; it is to say where credentials are kept"
      if error.code != .full { error.hint = Self.hint }
      throw error
    }
    if let now = try read(), now != pin {
      throw StorageError(
        .unavailable, "another kistd has begun to keep credentials in \(now.kind.name)",
        hint: "stop both, and bring the credentials together with \(now.kind.migration)")
    }
  }

  private static let hint = "see to the directory, and try again"
}
