import KistCore
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct GoldenTests {
  @Test(arguments: Golden.table)
  func `the client sends the request and reads the reply`(golden: Golden) async throws {
    try await golden.call(
      exchange { line throws(StorageError) in
        #expect(line.text == golden.request)
        return Line(golden.reply)
      })
  }

  @Test(arguments: Golden.table)
  func `the server reads the request and sends the reply`(golden: Golden) async {
    let answer = answer(with: golden.service())
    #expect(await answer(Line(golden.request)).text == golden.reply)
  }

  @Test(arguments: Golden.table)
  func `a client and a server without lines between them agree`(golden: Golden) async throws {
    try await golden.call(golden.service())
  }

  @Test func `every operation is in the table`() {
    let requests = Set(Golden.table.map { $0.request.split(separator: "\"")[3] })
    #expect(requests == Set(Hello.stub.operations.map { $0[...] }))
  }

  @Test(arguments: CredentialChange.table)
  func `a change is written as a line and read back`(
    change: CredentialChange, line: String
  ) async throws {
    #expect(change.json().text == line)
    #expect(try await changeRead(from: line) == change)
  }

  @Test func `an unknown event is a reset, and unknown keys are ignored`() async throws {
    #expect(try await changeRead(from: #"{"event":"renamed","service":"a"}"#) == .reset)
    #expect(try await changeRead(from: #"{"event":"reset","reason":"x"}"#) == .reset)
    await expect(.internal) { try await changeRead(from: #"{"event":"saved","service":"a"}"#) }
    await expect(.internal) { try await changeRead(from: #"{"event":1}"#) }
    await expect(.internal) { try await changeRead(from: "x") }
    await expect(.busy) {
      try await changeRead(from: #"{"ok":false,"error":{"code":"busy","message":"x"}}"#)
    }
  }

  private func changeRead(from line: String) async throws -> CredentialChange? {
    try await WatchCredentials.remote { _ throws(StorageError) in
      (Line(#"{"ok":true}"#), { () throws(StorageError) in Line(line) })
    }().makeAsyncIterator().next()
  }

  @Test func `values have the JSON of the protocol`() {
    let credential = Credential(summary: .sample(), secret: Secret(utf8: "x"))
    let summary = CredentialSummary.sample().json().text
    #expect(
      summary == #"{"service":"example.org","account":"alice","attributes":{},"#
        + #""createdAt":"2026-11-20T10:00:00Z","modifiedAt":"2026-11-20T10:00:00Z","#
        + #""revision":"sample.1"}"#)
    #expect(credential.json().text == summary.dropLast() + #","secret":"x"}"#)
    #expect(
      CredentialPage(credentials: [.sample()], next: "y").json().text
        == #"{"credentials":[\#(summary)],"next":"y"}"#)
    #expect(StorageStatus.stub.json().text.hasPrefix(#"{"storage":"memory","locked":false,"#))
    #expect(
      StorageError(.full, "no space is left", hint: "make room", outcome: .unknown).json().text
        == #"{"code":"full","message":"no space is left","hint":"make room","outcome":"unknown"}"#)
  }
}

extension CredentialChange {
  fileprivate static let table: [(CredentialChange, String)] = [
    (
      .saved(.sample, Revision(rawValue: "sample.7")),
      #"{"event":"saved","service":"example.org","account":"alice","revision":"sample.7"}"#
    ),
    (
      .deleted(CredentialKey(service: "a\"\\b"), Revision(rawValue: "sample.8")),
      #"{"event":"deleted","service":"a\"\\b","account":"","revision":"sample.8"}"#
    ),
    (.deleted(.sample, nil), #"{"event":"deleted","service":"example.org","account":"alice"}"#),
    (.reset, #"{"event":"reset"}"#),
  ]
}
