internal import KistCore
package import KistFile

/// Where credentials are kept: written before the save of the first of them is answered.
package struct Pin: Sendable, Equatable {
  package var kind: StorageKind
  /// Which encrypted file; a user has one keyring.
  package var storeID: String?
  /// Which one is about to take its place: files are renamed one after another, and whichever of the
  /// two is there counts.
  package var nextStoreID: String?

  package init(kind: StorageKind, storeID: String?, nextStoreID: String? = nil) {
    self.kind = kind
    self.storeID = storeID
    self.nextStoreID = nextStoreID
  }

  /// The pin once it is known which of the two is there.
  package func settled(on file: EncryptedFile.Presence) -> Pin {
    guard case .store(let id, _) = file, let nextStoreID, [storeID, nextStoreID].contains(id) else {
      return self
    }
    return Pin(kind: kind, storeID: id)
  }
}

extension Pin {
  /// One line: the format's name and version, the kind, and the ids where there are any.
  var text: String {
    (["kist-storage-1", kind.rawValue] + [storeID, nextStoreID].compactMap(\.self))
      .joined(separator: " ") + "\n"
  }

  /// Reads the line; throws `corrupt` where it is another.
  init(_ text: String, at path: String) throws(StorageError) {
    let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
    guard
      words.count >= 2, let kind = StorageKind(rawValue: String(words[1])),
      kind == .encryptedFile ? (3...4).contains(words.count) : words.count == 2
    else { throw .unclearPin(path) }
    let ids = words.dropFirst(2).map(String.init)
    self.init(kind: kind, storeID: ids.first, nextStoreID: ids.count == 2 ? ids[1] : nil)
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
