internal import Dispatch
internal import KistCore
internal import KistSodium
internal import KistSystem
internal import KistVault
private import Synchronization

/// Records the last change of an open store outside the store, to detect an older copy of it.
///
/// A change never waits for it. When kistd is killed, the changes of the last second are not noted.
final class Progress: Sendable {
  private struct State {
    /// The newest change that is on disk.
    var newest: UInt64
    /// The change in the note.
    var noted: UInt64?
    /// Whether the newest change will be noted soon.
    var isDue = false
    /// Whether the last attempt to write failed.
    var isFailing = false
  }

  private let file: ProgressFile
  private let options: EncryptedFile.ProgressOptions
  private let now: @Sendable () -> Timestamp
  private let nonces: @Sendable (Int) -> [UInt8]
  private let queue = DispatchQueue(label: "kist.progress", qos: .utility)
  private let state: Mutex<State>

  /// Compares a store with its note.
  ///
  /// Throws `corrupt` where the store is older than its note or the note is damaged, unless the
  /// options accept that. Reports a note that cannot be read, and returns `nil`.
  init?(
    _ options: EncryptedFile.ProgressOptions, of store: EncryptedFile.Options, _ keys: StoreKeys,
    _ header: Header
  ) throws(StorageError) {
    let accepts = options.acceptsRollback()
    var rollback: StorageError?
    do throws(StorageError) {
      file = try ProgressFile(options, store: store.path, keys: keys)
      // Also of other stores: a rekey may have been killed while it wrote the note of the old one.
      removeUnfinished(ofAll: options.directory + "/progress", suffixed: "-")
      var noted: ProgressNote?
      do throws(StorageError) { noted = try file.check(header) } catch {
        guard accepts, error.code == .corrupt else { throw error }
        rollback = error
      }
      state = Mutex(State(newest: header.sequence, noted: noted?.sequence))
    } catch {
      if error.code == .corrupt { throw error }
      options.report(error)
      return nil
    }
    self.options = options
    (now, nonces) = (store.now, store.nonces)
    if let rollback {
      options.reportAccepted(rollback)
      // Written immediately: the acceptance counts once, and the next unlock reads the note.
      queue.sync { write() }
    }
    note(header.sequence)
  }

  /// Records a change that is on disk; it is written to the note soon.
  func note(_ sequence: UInt64) {
    let mustBegin = state.withLock { state in
      state.newest = sequence
      guard state.noted != sequence else { return false }
      defer { state.isDue = true }
      return !state.isDue
    }
    guard mustBegin else { return }
    // Weak, because the keys must be released when the store is locked.
    queue.asyncAfter(deadline: .after(options.delay)) { [weak self] in self?.write() }
  }

  /// Writes the newest change to the note, if it is not there yet.
  func flush() async { await queue.run { self.write() } }

  /// Writes the note; runs on the queue.
  private func write() {
    let newest = state.withLock { state -> UInt64? in
      state.isDue = false
      return state.newest == state.noted ? nil : state.newest
    }
    guard let newest else { return }
    do throws(StorageError) {
      try file.write(ProgressNote(sequence: newest, time: now()), nonce: nonces(1))
      state.withLock { ($0.noted, $0.isFailing) = (newest, false) }
    } catch {
      let isFirst = state.withLock { state in
        defer { state.isFailing = true }
        return !state.isFailing
      }
      if isFirst { options.report(error) }
    }
  }
}

/// The file of a progress note, whose content docs/file-format.md specifies.
struct ProgressFile {
  let path: String
  private let keys: StoreKeys

  /// Names the file for the store at a path; each store has its own file in each directory.
  init(
    _ options: EncryptedFile.ProgressOptions, store: String, keys: StoreKeys
  ) throws(StorageError) {
    let name = Array(try realPath(of: directory(of: store)).utf8) + keys.storeID
    path = options.directory + "/progress-" + hexadecimal(blake2b(name.span, count: 16))
    self.keys = keys
  }

  /// Compares a store with its note, and returns the note; `nil` if there is none.
  ///
  /// Throws `corrupt` if the store is older than its note, or the note is not authentic.
  func check(_ header: Header) throws(StorageError) -> ProgressNote? {
    guard let file = try PrivateFile.open(path, "progress file") else { return nil }
    let bytes = try file.descriptor.bytes(upTo: ProgressNote.size + 1, path: path)
    guard let note = keys.openNote(bytes) else {
      throw StorageError(
        .corrupt,
        "kistd cannot verify its progress note \(path): the note is damaged, or "
          + "`kistd fsck --salvage` made this store", hint: Self.hint)
    }
    if header.sequence >= note.sequence { return note }
    let isReplaced = note.sequence == ProgressNote.replaced
    let state =
      isReplaced
      ? "it is from before a `kistd rekey`, which kistd noted on \(note.time)"
      : "it is at change \(header.sequence), but kistd noted change \(note.sequence) on \(note.time)"
    throw StorageError(
      .corrupt, "the store is an older copy: \(state)",
      hint: isReplaced ? Self.replacedHint : Self.hint)
  }

  /// Replaces the note; it is complete and on disk when this returns.
  func write(_ note: ProgressNote, nonce: [UInt8]) throws(StorageError) {
    try prepareDirectory(of: path)
    _ = try writeWhole(keys.seal(note, nonce: nonce).span, to: path, replacing: true)
  }

  /// In kistd's usual directory, the pin file refuses the replaced store too, hence another one.
  private static let replacedHint =
    "nothing was changed; put the newer store back, and run `kist unlock`; or move this one to another directory, and open "
    + "it with `kistd --data DIRECTORY`"

  private static let hint =
    "nothing was changed; put the newer store back, and run `kist unlock`; or, to use this older store, "
    + EncryptedFile.ProgressOptions.acceptance
}

extension EncryptedFile.ProgressOptions {
  /// The clause that says how the user accepts an older store.
  package static let acceptance =
    "stop kistd and run `kistd --accept-rollback -- kist unlock` once, with the options that you "
    + "usually give kistd"
}
