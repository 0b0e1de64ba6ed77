internal import Dispatch
internal import KistCore
internal import KistVault
private import Synchronization

/// Records the last change of an open store outside the store, to detect an older copy of it.
///
/// A change never waits for the note. When kistd is killed, at most the changes of the last second
/// are not noted.
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
      removeUnfinished(of: file.path)
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
    now = store.now
    nonces = store.nonces
    if let rollback {
      options.reportAccepted(rollback)
      // Written immediately: the acceptance is used up, and the next unlock reads the note again.
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
  func flush() async {
    await queue.run { self.write() }
  }

  /// Writes the note; runs on the queue.
  private func write() {
    let newest = state.withLock { state -> UInt64? in
      state.isDue = false
      return state.newest == state.noted ? nil : state.newest
    }
    guard let newest else { return }
    do throws(StorageError) {
      try file.write(
        ProgressNote(sequence: newest, time: now()), nonce: nonces(1))
      state.withLock { state in
        state.noted = newest
        state.isFailing = false
      }
    } catch {
      let isFirst = state.withLock { state in
        defer { state.isFailing = true }
        return !state.isFailing
      }
      if isFirst { options.report(error) }
    }
  }
}
