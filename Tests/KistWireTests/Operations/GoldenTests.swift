import KistCore
import KistTesting
import KistWire
import Testing

struct GoldenTests {
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

  @Test func `every operation that hello names is in the table`() async throws {
    let hello = try await Hello.ask(service())
    let requests = Set(Golden.table.map { $0.request.split(separator: "\"")[3] })
    #expect(requests == Set(hello.operations.map { $0[...] }))
    #expect(Set(hello.operations).isSubset(of: AuditQuery.operations))
  }

  @Test(arguments: CredentialChange.table)
  func `a change is told in a line, and read from it`(
    change: CredentialChange, line: String
  ) async throws {
    #expect(change.json().text == line)
    #expect(try await told(by: line) == change)
  }

  @Test func `what is told by a newer kistd is read as far as it can be`() async throws {
    #expect(try await told(by: #"{"event":"renamed","service":"a"}"#) == .reset)
    #expect(try await told(by: #"{"event":"reset","reason":"x"}"#) == .reset)
    await expect(.internal) { try await told(by: #"{"event":"saved","service":"a"}"#) }
    await expect(.internal) { try await told(by: #"{"event":1}"#) }
    await expect(.internal) { try await told(by: "x") }
    await expect(.busy) {
      try await told(by: #"{"ok":false,"error":{"code":"busy","message":"x"}}"#)
    }
  }

  /// What a watcher makes of a line.
  private func told(by line: String) async throws -> CredentialChange? {
    try await WatchCredentials.remote { _ throws(StorageError) in
      (Line(#"{"ok":true}"#), { () throws(StorageError) in Line(line) })
    }().makeAsyncIterator().next()
  }

  @Test func `values as JSON are what the protocol has for them`() {
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
