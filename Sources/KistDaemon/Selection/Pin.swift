internal import KistCore

/// Where credentials are kept: written before the save of the first of them is answered.
package struct Pin: Sendable, Equatable {
  package var kind: StorageKind
  /// Which encrypted file; a user has one keyring.
  package var storeID: String?

  package init(kind: StorageKind, storeID: String?) {
    self.kind = kind
    self.storeID = storeID
  }
}

extension Pin {
  /// One line: the format's name and version, the kind, and the id where there is one.
  var text: String {
    (["kist-storage-1", kind.rawValue] + (storeID.map { [$0] } ?? [])).joined(separator: " ") + "\n"
  }

  /// Reads the line; throws `corrupt` where it is another.
  init(_ text: String, at path: String) throws(StorageError) {
    let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
    guard
      words.count >= 2, let kind = StorageKind(rawValue: String(words[1])),
      (kind == .encryptedFile) == (words.count == 3)
    else { throw .unclearPin(path) }
    self.init(kind: kind, storeID: words.count == 3 ? String(words[2]) : nil)
    guard self.text.hasSameBytes(as: text) else { throw .unclearPin(path) }
  }
}

extension StorageError {
  fileprivate static func unclearPin(_ path: String) -> StorageError {
    StorageError(
      .corrupt, "\(path) does not say where credentials are kept; it was left as it is",
      hint: "bring it back from a backup, or remove it to have the storage chosen anew")
  }
}
