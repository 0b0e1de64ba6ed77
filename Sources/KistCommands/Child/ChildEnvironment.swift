internal import Glibc
internal import KistCore
internal import KistInterop

/// The environment of this process, but for some variables, for a command; the values are
/// wiped when it goes.
struct ChildEnvironment {
  /// The environment of this process as it is.
  static let unchanged = ChildEnvironment(entries: [])

  private let entries: [Secret]

  private init(entries: [Secret]) { self.entries = entries }

  /// Refuses a value with a NUL in it, behind which the command would see nothing.
  init(setting settings: [Setting]) throws(StorageError) {
    var entries: [Secret] = []
    for setting in settings {
      guard setting.value.withBytes({ bytes in bytes.indices.allSatisfy { bytes[$0] != 0 } }) else {
        throw StorageError(
          .badRequest, "a secret has a NUL in it, which no variable can have",
          hint: "give it to the command as a file, with --file", outcome: .unchanged)
      }
      var entry = WipedBytes(capacity: setting.name.utf8.count + setting.value.count + 2)
      entry.append(utf8: setting.name)
      entry.append(UInt8(ascii: "="))
      setting.value.withBytes { entry.append($0) }
      entry.append(0)
      entries.append(Secret(entry))
    }
    self.entries = entries
  }

  /// Lends it as pointers, the last of them null, as exec(3) takes it.
  func withPointers<Result>(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    defer { extendLifetime(entries) }
    let added = unsafe entries.map { entry in
      unsafe entry.withBytes { bytes in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress!)
            .assumingMemoryBound(to: CChar.self)
        }
      }
    }
    var all: [UnsafeMutablePointer<CChar>?] = unsafe []
    var next = unsafe environ
    while let entry = unsafe next.pointee {
      let isReplaced = unsafe added.contains { added in unsafe isSameName(entry, added) }
      if !isReplaced { unsafe all.append(entry) }
      unsafe next += 1
    }
    unsafe all += added
    unsafe all.append(nil)
    return unsafe body(all)
  }
}

/// Whether two entries, `NAME=value`, are of one name; the second has an equals sign.
private func isSameName(
  _ left: UnsafePointer<CChar>, _ right: UnsafePointer<CChar>
) -> Bool {
  let length = unsafe strcspn(right, "=") + 1
  return unsafe strncmp(left, right, length) == 0
}
