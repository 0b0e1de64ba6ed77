import KistCore
import Synchronization
import Testing

@testable import KistWire

@Suite(.timeLimit(.minutes(10))) struct `A request whose connection was lost` {
  private let reads: Set = [
    "load", "find", "watch", "status", "slots", "audit", "auditVerify", "hello",
  ]

  @Test(arguments: OperationRow.all.map(\.name))
  func `is sent again only if its operation has no effect beyond the reply`(
    operation: String
  ) async throws {
    let sent = Mutex(0)
    let lost: Exchange = { _ throws(StorageError) in
      sent.withLock { $0 += 1 }
      throw StorageError(.unavailable, "the connection was lost", outcome: .unknown)
    }
    let request = try Message(request: operation) { _ in }
    let error = await #expect(throws: StorageError.self) {
      _ = try await repeatingReads(lost)(request)
    }
    #expect(error?.code == .unavailable)
    #expect(sent.withLock { $0 } == (reads.contains(operation) ? 2 : 1))
  }
}
