internal import Glibc
internal import KistCore
internal import KistInterop

/// The environment of this process with some variables added or replaced, for a command.
///
/// Their values are wiped when it is released.
struct ChildEnvironment {
  /// The unchanged environment of this process.
  static let unchanged = ChildEnvironment(entries: [])

  private let entries: [Secret]

  private init(entries: [Secret]) { self.entries = entries }

  /// Refuses a value that contains a NUL, because the command would see it only up to there.
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

  /// Lends it as pointers that end with null, as exec(3) expects.
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

/// Whether two entries, `NAME=value`, have the same name; the second contains an equals sign.
private func isSameName(
  _ left: UnsafePointer<CChar>, _ right: UnsafePointer<CChar>
) -> Bool {
  let length = unsafe strcspn(right, "=") + 1
  return unsafe strncmp(left, right, length) == 0
}
