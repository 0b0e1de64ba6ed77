internal import KistCore

/// What the writer is asked to do.
enum Change: Sendable {
  case save(SaveRequest)
  case delete(DeleteRequest)
  case keySlots(KeySlotChange)

  /// What became of it.
  enum Effect: Sendable {
    case saved(CredentialSummary)
    /// The sequence number of the deletion, where there was anything to delete.
    case deleted(UInt64?)
    /// The key slots that there are.
    case keySlots([KeySlot])
  }

  typealias Answer = Result<Effect, StorageError>
}

/// Which key slots are to be added and removed, in one step.
struct KeySlotChange: Sendable {
  /// The slots that it was decided on; of others the one that is removed might be the last.
  var slots: [KeySlot]
  var added: KeySlot?
  var removed: UInt32?
}
