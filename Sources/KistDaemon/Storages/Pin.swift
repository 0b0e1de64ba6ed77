internal import Glibc
internal import KistCore
internal import KistFile
internal import KistSystem

/// The record of where credentials are kept, written before the first save is answered.
struct Pin: Sendable, Equatable {
  var kind: StorageKind
  /// The id of the store; `nil` for a kind that has only one store.
  var storeID: String?
  /// The id of a store that replaces `storeID`; while set, the pin is for the one that exists.
  var nextStoreID: String?

  func settled(on probe: StorageProbe?) -> Pin {
    guard
      case .open(_, let id?) = probe, let nextStoreID, [storeID, nextStoreID].contains(id)
    else { return self }
    return Pin(kind: kind, storeID: id)
  }

  func check(_ probe: StorageProbe) throws(StorageError) {
    guard let identity = kind.identity else { return }
    switch probe {
    case .open(_, nil): throw identity.missing
    case .open(_, let id): if id != settled(on: probe).storeID { throw identity.replaced }
    case .unusable(let error): throw error
    case .locked: break
    }
  }
}

extension Pin {
  /// The pin as one line: the format's name and version, the kind, and the ids, if any.
  var text: String {
    (["kist-storage-1", kind.rawValue] + [storeID, nextStoreID].compactMap(\.self))
      .joined(separator: " ") + "\n"
  }

  init(_ text: String, at path: String) throws(StorageError) {
    let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
    let unclear = StorageError(
      .corrupt, "\(path) does not name the storage that kistd uses; it was not changed",
      hint: "restore it from a backup, or remove it so that kistd chooses a storage again")
    guard
      words.count >= 2, let kind = StorageKind(rawValue: String(words[1])),
      kind.identity == nil ? words.count == 2 : (3...4).contains(words.count)
    else { throw unclear }
    let ids = words.dropFirst(2).map(String.init)
    self.init(kind: kind, storeID: ids.first, nextStoreID: ids.count == 2 ? ids[1] : nil)
    guard self.text.hasSameBytes(as: text) else { throw unclear }
  }
}

/// The file that records where credentials are kept.
struct PinFile: Sendable {
  let path: String

  func read() throws(StorageError) -> Pin? {
    if let error = StorageError.fileInPlace(of: directory(of: path)) { throw error }
    let descriptor: CInt
    do throws(UnfitFile) { descriptor = try openOwnFile(path, O_RDONLY) } catch {
      if error.isMissing { return nil }
      var refusal = StorageError.unfit(error, path, hint: Self.hint)
      refusal.message += "; kistd uses this file to record where credentials are kept"
      throw refusal
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .failed("read", path, hint: Self.hint) }
    return try Pin(String(decoding: bytes.prefix(count), as: UTF8.self), at: path)
  }

  /// Reads the pin; throws `unavailable` with this hint if it names another storage.
  func read(of kind: StorageKind, orElse hint: String) throws(StorageError) -> Pin? {
    let pin = try read()
    guard let pin, pin.kind != kind else { return pin }
    throw StorageError(
      .unavailable, "credentials are kept in \(pin.kind.name); this command is for \(kind.name)",
      hint: hint)
  }

  /// Returns a pin for the store that exists, and writes it if the old pin named two stores.
  func settled(_ pin: Pin, on probe: StorageProbe?) -> Pin {
    let settled = pin.settled(on: probe)
    // If this write fails, each start settles the pin again.
    if settled != pin { try? write(settled, insteadOf: pin) }
    return settled
  }

  /// Writes the pin to disk; throws `unavailable` if another kistd has written a different first pin.
  func write(_ pin: Pin, insteadOf previous: Pin?) throws(StorageError) {
    try makeDirectory(directory(of: path), hint: Self.hint)
    do throws(StorageError) {
      let bytes = Array(pin.text.utf8)
      if try writeWhole(bytes.span, to: path, replacing: previous != nil) { return }
    } catch {
      var error = error
      error.message += "; kistd uses this file to record where credentials are kept"
      if error.code != .full { error.hint = Self.hint }
      throw error
    }
    if let now = try read(), now != pin {
      throw StorageError(
        .unavailable, "another kistd has started to keep credentials in \(now.kind.name)",
        hint: "stop both, and move all credentials into one storage with \(now.kind.migration)")
    }
  }

  private static let hint = "check the directory, and try again"
}
