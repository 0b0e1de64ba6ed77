package import KistCore
private import KistSodium

/// The data about the whole store.
///
/// Each change updates the header and seals it again. StoreKeys.swift explains the terms of this
/// module, such as *seal*.
package struct Header: Equatable, Sendable {
  /// The number of the last change.
  package var sequence: UInt64
  /// The number of credentials.
  package var count: UInt64
  /// The random prefix of all revisions of this store.
  package var epoch: Epoch
  /// The sum of the hashes of all rows.
  package var sum: RowSum
  /// The hash of all key slots.
  package var slots: [UInt8]

  /// The maximum sequence.
  ///
  /// SQLite stores the sequence of a row as a signed integer.
  package static let maximumSequence = UInt64(Int64.max)

  /// The size of the hash of the slots in bytes.
  static let slotsHashSize = 32

  /// Makes the header of a new store.
  package init(epoch: UInt64, slots: [UInt8]) {
    (sequence, count, sum) = (0, 0, .zero)
    self.epoch = Epoch(epoch)
    self.slots = slots
  }

  /// The revision of the last change.
  package var lastRevision: Revision { epoch.revision(of: sequence) }

  /// Updates the sum and the count after a change of one row.
  ///
  /// - Parameter old: the hash of the row before the change; `nil` if the row was added.
  /// - Parameter new: the hash of the row after the change; `nil` if the row was deleted.
  package mutating func replaceRow(_ old: RowSum?, with new: RowSum?) {
    if let old {
      sum -= old
      count -= 1
    }
    if let new {
      sum += new
      count += 1
    }
  }
}

/// A random number that begins all revisions of a store.
package struct Epoch: Equatable, Sendable {
  /// The number.
  package let number: UInt64
  private let text: String

  /// Makes an epoch of a random number.
  package init(_ number: UInt64) {
    self.number = number
    text = String(number, radix: 36)
  }

  /// Returns the revision of the change with this number.
  package func revision(of sequence: UInt64) -> Revision {
    Revision(epoch: text, sequence: sequence)
  }
}

extension StoreKeys {
  /// Seals a header.
  package func seal(_ header: Header, nonce: [UInt8]) -> [UInt8] {
    var bytes = WipedBytes(capacity: 88)
    bytes.append(littleEndian: header.sequence)
    bytes.append(littleEndian: header.count)
    bytes.append(littleEndian: header.epoch.number)
    bytes.append(header.sum)
    bytes.append(header.slots.span)
    let associatedData = headerData
    return bytes.withBytes { headerKey.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// Opens a header; throws `corrupt` when it is not authentic or has impossible numbers.
  package func openHeader(_ sealed: [UInt8]) throws(StorageError) -> Header {
    let associatedData = headerData
    guard let bytes = headerKey.open(sealed.span, for: associatedData.span) else {
      throw .corrupt("the store's header fails authentication")
    }
    return try bytes.withBytes { bytes throws(StorageError) in
      var reader = ByteReader()
      var header = Header(epoch: 0, slots: [])
      header.sequence = try reader.integer(from: bytes)
      header.count = try reader.integer(from: bytes)
      header.epoch = Epoch(try reader.integer(from: bytes))
      header.sum = try RowSum(&reader, from: bytes)
      header.slots = try reader.bytes(Header.slotsHashSize, from: bytes)
      try reader.finish(bytes)
      // Each row has a different sequence, so there cannot be more rows than changes.
      guard header.count <= header.sequence, header.sequence <= Header.maximumSequence else {
        throw .corrupt("the store's header has invalid numbers")
      }
      return header
    }
  }
}

/// The number of the last change of a store, in a file outside of the store.
///
/// If the store has a lower number, an older copy replaced it.
package struct ProgressNote: Equatable, Sendable {
  /// The number of the last change.
  package var sequence: UInt64
  /// When the note was written.
  package var time: Timestamp

  package init(sequence: UInt64, time: Timestamp) { (self.sequence, self.time) = (sequence, time) }

  /// The sequence in the note of a store that `kistd rekey` has replaced.
  ///
  /// It is greater than any real sequence, so every copy of that store counts as older.
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
    let sealed = message.withBytes { progressKey.seal($0, for: associatedData.span, nonce: nonce) }
    return ProgressNote.magic + storeID + sealed
  }

  /// Opens a note; returns `nil` if it is not authentic.
  package func openNote(_ bytes: [UInt8]) -> ProgressNote? {
    let head = ProgressNote.magic + storeID
    guard bytes.count == ProgressNote.size, bytes.starts(with: head) else { return nil }
    let associatedData = StoreFormat.associatedData(of: .progress, storeID: storeID)
    let sealed = Array(bytes.dropFirst(head.count))
    return progressKey.open(sealed.span, for: associatedData.span)?.withBytes { message in
      var reader = ByteReader()
      guard let sequence: UInt64 = try? reader.integer(from: message),
        let time = (try? reader.integer(from: message)).flatMap(Timestamp.init(secondsSinceEpoch:))
      else { return nil }
      return ProgressNote(sequence: sequence, time: time)
    }
  }
}
