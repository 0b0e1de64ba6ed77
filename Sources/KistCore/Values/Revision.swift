/// An opaque mark of one state of one credential; no two changes of a storage share one.
public struct Revision: Hashable, Sendable, RawRepresentable {
  /// The mark as it stands on the wire: an epoch, a full stop, a sequence number.
  public let rawValue: String

  /// Takes a mark that a storage gave out earlier; nothing about it is checked.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes the mark of the `sequence`th change of a storage since its `epoch` began.
  package init(epoch: String, sequence: UInt64) {
    // Put together at once, since each step more would be taken for every load.
    let digits = String(sequence)
    let length = epoch.utf8.count + 1 + digits.utf8.count
    rawValue = unsafe String(unsafeUninitializedCapacity: length) { mark in
      let stop = unsafe mark.update(fromContentsOf: epoch.utf8)
      unsafe mark[stop] = UInt8(ascii: ".")
      _ = unsafe mark[(stop + 1)...].update(fromContentsOf: digits.utf8)
      return length
    }
  }

  /// Whether it is the mark of a later change than another; `nil` where that cannot be told, since
  /// the two are not of one epoch.
  package func isLater(than other: Revision) -> Bool? {
    guard let mine = parts, let theirs = other.parts, mine.epoch == theirs.epoch else { return nil }
    return mine.sequence > theirs.sequence
  }

  private var parts: (epoch: Substring, sequence: UInt64)? {
    guard
      let stop = rawValue.lastIndex(of: "."),
      let sequence = UInt64(rawValue[rawValue.index(after: stop)...])
    else { return nil }
    return (rawValue[..<stop], sequence)
  }
}

/// What must hold of a key for a change of it to be carried out.
public enum Condition: Hashable, Sendable {
  /// Whatever is there.
  case always
  /// There is no such credential, expired or not.
  case ifAbsent
  /// The credential is there, at this revision.
  case ifRevision(Revision)
}

extension Condition {
  /// Throws `conflict` unless the condition holds of a key that is at this revision, or absent.
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
