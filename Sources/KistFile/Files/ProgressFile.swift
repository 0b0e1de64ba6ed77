internal import KistCore
internal import KistSodium
internal import KistSystem
internal import KistVault

/// The progress note: a file that records the last change of a store.
///
/// docs/file-format.md specifies its content.
struct ProgressFile {
  let path: String
  private let keys: StoreKeys

  /// Names the file for the store at a path; each store has its own file in each directory.
  init(_ options: EncryptedFile.ProgressOptions, store: String, keys: StoreKeys)
    throws(StorageError)
  {
    let place = Array(try realPath(of: directory(of: store)).utf8)
    let name = place + keys.storeID
    path = options.directory + "/progress-" + hexadecimal(blake2b(name.span, count: 16))
    self.keys = keys
  }

  /// Compares a store with its note, and returns the note; `nil` where there is none.
  ///
  /// Throws `corrupt` where the store is older than its note, or the note is malformed or fails
  /// authentication.
  func check(_ header: Header) throws(StorageError) -> ProgressNote? {
    guard let note = try read() else { return nil }
    if header.sequence >= note.sequence { return note }
    let isReplaced = note.sequence == ProgressNote.replaced
    let state =
      isReplaced
      ? "it is from before a `kistd rekey`, which kistd noted on \(note.time)"
      : "it is at change \(header.sequence), and kistd noted change \(note.sequence) on \(note.time)"
    throw StorageError(
      .corrupt, "the store is older than it was when kistd last had it open: \(state)",
      hint: isReplaced ? Self.replacedHint : Self.hint)
  }

  private func read() throws(StorageError) -> ProgressNote? {
    guard let file = try PrivateFile.open(path, "progress file") else { return nil }
    let bytes = try file.descriptor.bytes(upTo: ProgressNote.size + 1, path: path)
    guard let note = keys.openNote(bytes) else { throw damaged }
    return note
  }

  /// Replaces the note; it is complete and on disk when this returns.
  func write(_ note: ProgressNote, nonce: [UInt8]) throws(StorageError) {
    try prepareDirectory(of: path)
    _ = try writeWhole(keys.seal(note, nonce: nonce).span, to: path, replacing: true)
  }

  /// Records that another store replaced this one, so that every copy of this one counts as older.
  func writeReplaced(at time: Timestamp, nonce: [UInt8]) throws(StorageError) {
    try write(ProgressNote(sequence: ProgressNote.replaced, time: time), nonce: nonce)
  }

  private var damaged: StorageError {
    StorageError(
      .corrupt,
      "kistd cannot verify its progress note \(path): the note is damaged, or `kistd fsck --salvage` "
        + "made this store",
      hint: Self.hint)
  }

  /// At kistd's usual place, the record of the storage refuses the replaced store, too.
  private static let replacedHint =
    "nothing was changed; put the newer store back; or move this one to another directory, and open "
    + "it with `kistd --data DIRECTORY`"

  private static let hint =
    "nothing was changed; put the newer store back; or, to go on with this one, "
    + EncryptedFile.ProgressOptions.acceptance
}

extension EncryptedFile.ProgressOptions {
  /// The clause that says how the user accepts an older store.
  package static let acceptance =
    "stop kistd, and run `kistd --accept-rollback -- kist unlock` once, with the options that kistd is "
    + "started with"
}
