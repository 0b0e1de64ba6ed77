internal import Dispatch
internal import KistCore
internal import KistVault
private import Synchronization

/// Carries out all queued changes in one transaction, so that they share one flush.
final class Writer: Sendable {
  /// A requested change, whatever the type of its answer.
  private struct Queued: Sendable {
    let session: Session
    let carryOut: @Sendable (inout Transaction) throws(StorageError) -> Answered
    let fail: @Sendable (StorageError) -> Void
  }

  /// What to do once a change is on disk.
  private struct Answered {
    let event: CredentialChange?
    let answer: () -> Void
  }

  private struct State {
    var queued: [Queued] = []
    var isWorking = false
  }

  private let connections: Connections
  private let options: EncryptedFile.Options
  private let watchers: Watchers
  private let queue = DispatchQueue(label: "kist.writer")
  private let state = Mutex(State())

  init(connections: Connections, options: EncryptedFile.Options, watchers: Watchers) {
    self.connections = connections
    self.options = options
    self.watchers = watchers
  }

  /// Carries out a change and answers when it is on disk.
  func carryOut<Answer: Sendable>(
    _ change: @escaping Change<Answer>, in session: Session,
    _ answer: @escaping @Sendable (Result<Answer, StorageError>) -> Void
  ) {
    let queued = Queued(
      session: session,
      carryOut: { transaction throws(StorageError) in
        let result = try change(&transaction)
        return Answered(event: (try? result.get())?.event) { answer(result.map(\.answer)) }
      },
      fail: { answer(.failure($0)) })
    let mustBegin = state.withLock { state in
      state.queued.append(queued)
      defer { state.isWorking = true }
      return !state.isWorking
    }
    if mustBegin { queue.async { self.work() } }
  }

  /// Waits until all changes queued so far are answered.
  func finish() async { await queue.run {} }

  private func work() {
    while true {
      let batch = state.withLock { state in
        defer { state.queued = [] }
        state.isWorking = !state.queued.isEmpty
        return state.queued
      }
      guard let session = batch.first?.session else { return }
      do throws(StorageError) {
        let answers = try carryOut(batch, in: session)
        // Before the answers, so that a client with an answer knows that the change was reported.
        if watchers.areThere { watchers.tell(answers.compactMap(\.event)) }
        for answered in answers { answered.answer() }
      } catch {
        if error.outcome == .unknown { watchers.tell([.reset]) }
        for queued in batch { queued.fail(error) }
      }
    }
  }

  /// Carries out the changes in order, and returns the answer of each.
  ///
  /// Throws where none is known to be on disk.
  private func carryOut(
    _ changes: [Queued], in session: Session
  ) throws(StorageError) -> [Answered] {
    var answers: [Answered] = []
    answers.reserveCapacity(changes.count)
    var before: Header?
    var after: Header?
    var mustErase = false
    do throws(StorageError) {
      // The connections are closed only if reopening them failed after an earlier error.
      let files = try connections.openFiles()
      try connections.change { database throws(StorageError) in
        try database.transaction("BEGIN IMMEDIATE") { () throws(StorageError) in
          let header = try session.header(in: database)
          guard header.sequence <= Header.maximumSequence - UInt64(changes.count) else {
            throw .noSequenceLeft
          }
          before = header
          var transaction = Transaction(
            database: database, keys: session.keys, now: options.now, header: header,
            // At most two for each change, and one for the header.
            nonces: Nonces(options.nonces(2 * changes.count + 1)))
          for change in changes { answers.append(try change.carryOut(&transaction)) }
          // Late, because a change is lost if the files are replaced before it is written.
          try connections.checkPlaces(of: files, logSize: database.logSize())
          if transaction.header == header { return false }
          try session.write(
            transaction.header, nonce: transaction.nonces.next(), into: database)
          (after, mustErase) = (transaction.header, transaction.removesKeySlot)
          return true
        }
      }
      if after != nil { try connections.flushLogName() }
      if mustErase {
        let isErased = try connections.change { database throws(StorageError) in
          try connections.checkPlaces(of: files, logSize: database.logSize())
          let isErased = try database.emptyLog()
          // A slot that is erased in a former file is still in the present one.
          try files.checkPlaces(logSize: database.logSize())
          return isErased
        }
        if !isErased { throw .slotsNotErased }
      }
    } catch {
      var error = error
      // A read from a shortened log fails before the check, and calls the store damaged.
      if error.code == .corrupt {
        do throws(StorageError) { try connections.checkPlaces() } catch let cause { error = cause }
      }
      let fate = fate(of: before, after, erasing: mustErase, in: session)
      guard fate == .carriedOut else {
        throw error.withOutcome(fate == .unchanged ? .unchanged : .unknown)
      }
    }
    if let after { session.progress?.note(after.sequence) }
    return answers
  }

  private enum Fate { case carriedOut, unchanged, unknown }

  /// Reopens the store after a failure and determines what it contains.
  ///
  /// When a flush failed, only reading the log again decides whether SQLite's writes count. SQLite
  /// reads it again only after all connections were closed.
  private func fate(
    of before: Header?, _ after: Header?, erasing mustErase: Bool, in session: Session
  ) -> Fate {
    session.check.pause()
    do throws(StorageError) {
      defer { session.check.start() }
      try connections.reopen()
      guard let after else { return .unchanged }
      return try connections.change { database throws(StorageError) in
        let header = try database.header(session.keys)
        if header == before { return .unchanged }
        guard header == after else { return .unknown }
        // The writes count, but must also be on disk.
        return try (mustErase ? database.emptyLog() : database.checkpoint())
          ? .carriedOut : .unknown
      }
    } catch {
      return after == nil ? .unchanged : .unknown
    }
  }
}

extension StorageError {
  /// The sequence numbers are used up; kist never writes that many changes.
  fileprivate static let noSequenceLeft = StorageError(
    .full, "the store has used up its change numbers",
    hint: "stop kistd and run `kistd rekey`, which numbers the credentials again")

  /// The slot was removed, but its bytes were not overwritten.
  fileprivate static let slotsNotErased = StorageError(
    .busy, "the key slot is removed, but still in the file, which another process is reading",
    hint: "to overwrite it, \(adviceToRestart)")
}
