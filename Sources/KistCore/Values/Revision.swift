/// An opaque identifier of one state of one credential.
///
/// No two changes of a storage share a revision.
public struct Revision: Hashable, Sendable, RawRepresentable {
  /// The revision as in the protocol: an epoch, a full stop, a sequence number.
  public let rawValue: String

  /// Makes a revision from text that a storage returned earlier, without checking it.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes the revision of the `sequence`th change of a storage since its `epoch` began.
  package init(epoch: String, sequence: UInt64) {
    // Builds the string in one step, because every load does this.
    let digits = String(sequence)
    let length = epoch.utf8.count + 1 + digits.utf8.count
    rawValue = unsafe String(unsafeUninitializedCapacity: length) { mark in
      let stop = unsafe mark.update(fromContentsOf: epoch.utf8)
      unsafe mark[stop] = UInt8(ascii: ".")
      _ = unsafe mark[(stop + 1)...].update(fromContentsOf: digits.utf8)
      return length
    }
  }

  /// Returns whether this change is later than the other, or `nil` where their epochs differ.
  package func isLater(than other: Revision) -> Bool? {
    guard let mine = parts, let theirs = other.parts, mine.epoch == theirs.epoch else { return nil }
    return mine.sequence > theirs.sequence
  }

  /// The number of the change within its epoch; `nil` if the storage does not count its changes.
  package var sequence: UInt64? { parts?.sequence }

  private var parts: (epoch: Substring, sequence: UInt64)? {
    guard
      let stop = rawValue.utf8.lastIndex(of: UInt8(ascii: ".")),
      let sequence = UInt64(rawValue[rawValue.utf8.index(after: stop)...])
    else { return nil }
    return (rawValue[..<stop], sequence)
  }
}

/// A condition on a key that must hold for a change.
public enum Condition: Hashable, Sendable {
  /// Always holds.
  case always
  /// Holds when there is no such credential, expired or not.
  case ifAbsent
  /// Holds when the credential exists and has this revision.
  case ifRevision(Revision)
}

extension Condition {
  /// Throws `conflict` unless the condition holds for a key at this revision; `nil` means absent.
  package func check(against current: @autoclosure () -> Revision?) throws(StorageError) {
    let expected: Revision?
    switch self {
    case .always: return
    case .ifAbsent: expected = nil
    case .ifRevision(let revision): expected = revision
    }
    let current = current()
    if current != expected { throw .conflict(self, current: current) }
  }
}
