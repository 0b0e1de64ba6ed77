internal import KistCore
package import KistFile

/// The record of where credentials are kept, written before the first save is answered.
package struct Pin: Sendable, Equatable {
  package var kind: StorageKind
  /// The id of the encrypted file; `nil` for the keyring, of which a user has one.
  package var storeID: String?
  /// The id of a file that is about to replace it.
  ///
  /// Files are renamed one after another, so the one of the two that exists counts.
  package var nextStoreID: String?

  package init(kind: StorageKind, storeID: String?, nextStoreID: String? = nil) {
    self.kind = kind
    self.storeID = storeID
    self.nextStoreID = nextStoreID
  }

  /// Returns the pin with the id of the file that exists.
  package func settled(on file: EncryptedFile.Presence) -> Pin {
    guard case .store(let id, _) = file, let nextStoreID, [storeID, nextStoreID].contains(id) else {
      return self
    }
    return Pin(kind: kind, storeID: id)
  }
}

extension Pin {
  /// The pin as one line: the format's name and version, the kind, and the ids, if any.
  var text: String {
    (["kist-storage-1", kind.rawValue] + [storeID, nextStoreID].compactMap(\.self))
      .joined(separator: " ") + "\n"
  }

  /// Parses the line; throws `corrupt` if it is not valid.
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
      hint: "bring it back from a backup, or remove it so that kistd chooses a storage again")
  }
}
