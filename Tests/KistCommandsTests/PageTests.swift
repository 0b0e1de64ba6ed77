import KistCore
import KistTesting
import KistWire
import Synchronization
import Testing

@testable import KistCommands

/// A kistd that answers with a page that leads back to itself.
@Suite(.timeLimit(.minutes(10))) struct `A page that leads back to itself` {
  @Test(arguments: [["list"], ["list", "--json"], ["export"]])
  func `ends a command that reads page after page`(words: [String]) async {
    for isTerminal in [false, true] {
      let asked = Asked()
      var storage = UserStorage.unimplemented
      storage.find = { _ throws(StorageError) in
        try asked.again()
        return CredentialPage(credentials: [], next: "1")
      }
      let recorder = Recorder()
      let terminal = recorder.terminal(
        typed: ["y"], isTerminal: isTerminal, outputIsPrivate: true)
      let status = await Kist.status(of: words, on: terminal) { [storage] command in
        try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
      }
      #expect(status == StorageError.Code.internal.exitStatus)
      #expect(recorder.error.contains("leads back"))
    }
  }

  @Test func `ends kist audit`() async {
    let recorder = Recorder()
    let terminal = recorder.terminal()
    let asked = Asked()
    let log = AuditAccess(
      find: { query throws(StorageError) in
        try asked.again()
        return AuditPage(records: [], next: "1-1")
      }, verify: AuditAccess.none.verify)
    let status = await Kist.status(of: ["audit"], on: terminal) { command in
      try await (command as? any RequiresAuditLog)?.perform(log, terminal)
    }
    #expect(status == StorageError.Code.internal.exitStatus)
    #expect(recorder.error.contains("leads back"))
  }
}

/// A kistd that answers with pages without end.
@Suite(.timeLimit(.minutes(10))) struct `Pages without end` {
  @Test(arguments: [["list"], ["list", "--json"], ["export"]])
  func `end a command, also if they are empty`(words: [String]) async {
    let next = Atomic(0)
    var storage = UserStorage.unimplemented
    storage.find = { _ throws(StorageError) in
      CredentialPage(credentials: [], next: "\(next.add(1, ordering: .relaxed).newValue)")
    }
    let recorder = Recorder()
    let terminal = recorder.terminal(typed: ["y"], outputIsPrivate: true)
    let status = await Kist.status(of: words, on: terminal) { [storage] command in
      try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
    }
    #expect(status == StorageError.Code.internal.exitStatus)
    #expect(recorder.error.contains("empty pages"))
  }

  @Test func `end kist audit before they use much memory`() async {
    let text = String(repeating: "x", count: 300_000)
    let peer = AuditedPeer(pid: 1, uid: 1, unit: text, claimedName: text, evidence: .pid)
    let request = AuditedRequest(
      operation: "load", failure: nil, microseconds: 1, peer: peer,
      names: .open(RequestedNames(service: text, account: nil)))
    let moment = AuditRecord.Moment(second: .sample, milliseconds: 0)
    let pages = Atomic(0)
    let log = AuditAccess(
      find: { _ throws(StorageError) in
        let number = pages.add(1, ordering: .relaxed).newValue
        return AuditPage(
          records: [AuditRecord(moment: moment, event: .request(request))], next: "\(number)")
      }, verify: AuditAccess.none.verify)
    let recorder = Recorder()
    let terminal = recorder.terminal()
    let status = await Kist.status(of: ["audit"], on: terminal) { command in
      try await (command as? any RequiresAuditLog)?.perform(log, terminal)
    }
    #expect(status == StorageError.Code.tooLarge.exitStatus)
    #expect(pages.load(ordering: .relaxed) < 1000)
  }
}

/// Counts requests, and ends those of a command that goes in a circle.
private final class Asked: Sendable {
  private let count = Atomic(0)

  func again() throws(StorageError) {
    guard count.add(1, ordering: .relaxed).newValue < 100 else {
      throw .timeout(after: .seconds(1))
    }
  }
}
