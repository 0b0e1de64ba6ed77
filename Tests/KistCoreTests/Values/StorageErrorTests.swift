import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct StorageErrorTests {
  private static let table: [StorageError] = [
    .notFound, .conflict(.ifRevision(.one), current: nil),
    .conflict(.ifRevision(.one), current: .two), .conflict(.ifAbsent, current: .one),
    .expired(at: .sample), .locked("the keyring is locked"),
    .tooLarge("the secret", limit: 1, size: 2), .badRequest("no object"), .unknownOperation,
    .timeout(after: .seconds(30)), .wrongPassphrase, .internal("a fault"),
  ]

  @Test(arguments: table)
  func `an error is a clause in lower case without a full stop`(error: StorageError) throws {
    let first = try #require(error.message.first)
    #expect(first.isLowercase)
    #expect(error.message.last != ".")
    #expect(!error.message.contains("\n"))
    #expect(error.hint?.isEmpty != true)
    #expect("\(error)" == "\(error.code.rawValue): \(error.message)")
  }

  @Test func `an error that the user can correct has a hint`() {
    for error in Self.table where ![.tooLarge, .badRequest].contains(error.code) {
      #expect(error.hint != nil, "\(error.code)")
    }
  }

  @Test func `the codes are those of the protocol`() {
    #expect(
      StorageError.Code.allCases.map(\.rawValue).sorted() == [
        "badRequest", "busy", "conflict", "corrupt", "denied", "expired", "full", "internal",
        "locked", "notFound", "timeout", "tooLarge", "unavailable", "unknownOperation",
        "wrongPassphrase",
      ])
  }

  @Test func `an excess names the limit and the size`() {
    let error = StorageError.tooLarge("the secret", limit: 524_288, size: 524_289)
    #expect(error.message == "the secret is 524289 bytes long; the limit is 524288")
  }

  @Test func `an expiry names the moment`() {
    #expect(
      StorageError.expired(at: .sample).message == "the credential expired at 2026-11-20T10:00:00Z")
  }

  @Test(arguments: [nil, .unchanged, .unknown] as [StorageError.Outcome?])
  func `the text for the user says that a change may have been made, if that is not known`(
    outcome: StorageError.Outcome?
  ) {
    let error = StorageError(.unavailable, "no answer came", outcome: outcome)
    let text =
      outcome == .unknown ? "no answer came; the change may have been made" : "no answer came"
    #expect(error.messageAndOutcome == text)
  }

  @Test func `an outcome is not replaced`() {
    #expect(StorageError.notFound.withOutcome(.unchanged).outcome == .unchanged)
    #expect(
      StorageError.notFound.withOutcome(.unknown).withOutcome(.unchanged).outcome == .unknown)
  }
}
