internal import KistCore

/// A request to the writer.
enum Change: Sendable {
  case save(SaveRequest)
  case delete(DeleteRequest)
  case keySlots(KeySlotChange)

  /// The effect of a change.
  enum Effect: Sendable {
    case saved(CredentialSummary)
    /// The sequence number of the deletion; `nil` when there was nothing to delete.
    case deleted(UInt64?)
    /// The key slots after the change.
    case keySlots([KeySlot])
  }

  typealias Answer = Result<Effect, StorageError>
}

/// The key slots to add and remove in one step.
struct KeySlotChange: Sendable {
  /// The slots on which the change was decided.
  ///
  /// If they have changed since, the removed slot might be the last one.
  var slots: [KeySlot]
  var added: KeySlot?
  var removed: UInt32?
}
