package import KistCore
private import KistSodium

/// A note of the last change of a store, which is kept outside the store.
package struct ProgressNote: Equatable, Sendable {
  /// The number of the last change.
  package var sequence: UInt64
  /// When the note was written.
  package var time: Timestamp

  package init(sequence: UInt64, time: Timestamp) {
    (self.sequence, self.time) = (sequence, time)
  }

  /// The number in the note of a store that another one replaced.
  package static let replaced = UInt64.max
  /// The size of a sealed note in bytes.
  package static let size =
    magic.count + StoreFormat.storeIDSize + SymmetricKey.nonceSize + 16 + SymmetricKey.tagSize

  fileprivate static let magic = Array("kistmark".utf8)
}

extension StoreKeys {
  /// Seals a note.
  package func seal(_ note: ProgressNote, nonce: [UInt8]) -> [UInt8] {
    var message = WipedBytes(capacity: 16)
    message.append(littleEndian: note.sequence)
    message.append(littleEndian: note.time.secondsSinceEpoch)
    let associatedData = StoreFormat.associatedData(of: .progress, storeID: storeID)
    let sealed = message.withBytes { progress.seal($0, for: associatedData.span, nonce: nonce) }
    return ProgressNote.magic + storeID + sealed
  }

  /// Opens a note; `nil` when it is not authentic.
  package func openNote(_ bytes: [UInt8]) -> ProgressNote? {
    let head = ProgressNote.magic + storeID
    guard bytes.count == ProgressNote.size, bytes.starts(with: head) else { return nil }
    let associatedData = StoreFormat.associatedData(of: .progress, storeID: storeID)
    let sealed = Array(bytes.dropFirst(head.count))
    return progress.open(sealed.span, for: associatedData.span)?.withBytes { message in
      var reader = ByteReader()
      guard let sequence: UInt64 = try? reader.integer(from: message),
        let time = (try? reader.integer(from: message)).flatMap(Timestamp.init(secondsSinceEpoch:))
      else { return nil }
      return ProgressNote(sequence: sequence, time: time)
    }
  }
}
