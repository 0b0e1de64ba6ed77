import KistCore
import KistInterop
import KistTesting
import Testing

/// A sentence, and the calls in a row on one storage that show it.
struct Golden: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let saved: [NewCredential]
  let calls: [Call]

  init(_ sentence: String, saved: [NewCredential] = [], _ calls: Call...) {
    testDescription = sentence
    self.saved = saved
    self.calls = calls
  }

  /// Makes each call a second after the one before it.
  func run() async throws {
    let clock = ManualClock()
    let storage = UserStorage.inMemory(now: clock.now)
    for credential in saved {
      try await storage.save(credential)
      clock.advance(bySeconds: 1)
    }
    for (number, call) in calls.enumerated() {
      let answer = await call.answer(from: storage, now: clock.now)
      let comment: Comment = "call \(number + 1) of: \(testDescription)"
      #expect(answer.output.text == call.output, comment)
      #expect(answer.complaint?.message == call.complaint, comment)
      #expect(answer.status == call.status, comment)
      clock.advance(bySeconds: 1)
    }
  }
}

/// What a tool says to its helper, and what it gets.
struct Call: Sendable {
  typealias Helper = @Sendable (HelperCall, UserStorage) async -> HelperAnswer

  let helper: Helper
  let arguments: [String]
  var input = Secret(utf8: "")
  var variables: [String: String] = [:]
  var output = ""
  var complaint: String?
  var status: Int32 = 0

  /// The answer that a storage gives.
  func answer(
    from storage: UserStorage, now: @escaping @Sendable () -> Timestamp = { .sample }
  ) async -> HelperAnswer {
    let call = HelperCall(
      arguments: arguments, variable: { variables[$0] },
      readInput: { () throws(StorageError) in input }, now: now)
    return await helper(call, storage)
  }
}

extension Secret {
  /// The bytes as text, each that is not UTF-8 replaced.
  var text: String {
    withBytes { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
  }
}
