internal import Glibc
package import KistCore
internal import KistFile
internal import KistSystem

/// The file that records where credentials are kept.
package struct PinFile: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// Reads the pin; `nil` if there is none.
  package func read() throws(StorageError) -> Pin? {
    let descriptor: CInt
    do throws(UnfitFile) { descriptor = try openOwnFile(path, O_RDONLY) } catch {
      if error.isMissing { return nil }
      var refusal = StorageError.unfit(error, path, hint: Self.hint)
      refusal.message += "; it is to say where credentials are kept"
      throw refusal
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .failed("read", path, hint: Self.hint) }
    return try Pin(String(decoding: bytes.prefix(count), as: UTF8.self), at: path)
  }

  /// Reads the pin; throws `unavailable` with this hint if credentials are kept in the keyring.
  func readOfEncryptedFile(orElse hint: String) throws(StorageError) -> Pin? {
    let pin = try read()
    guard let pin, pin.kind != .encryptedFile else { return pin }
    throw StorageError(
      .unavailable, "credentials are kept in \(pin.kind.name); this is for the encrypted file",
      hint: hint)
  }

  /// Returns a pin with the store that exists, and writes it if the pin named two.
  func settled(_ pin: Pin, on file: EncryptedFile.Presence) -> Pin {
    let settled = pin.settled(on: file)
    // If this write fails, each start settles the pin again.
    if settled != pin { try? write(settled, insteadOf: pin) }
    return settled
  }

  /// Writes the pin; when this returns, it is completely on disk.
  ///
  /// A first pin never replaces another first pin. If two daemons begin at once, one of them throws
  /// `unavailable`.
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
