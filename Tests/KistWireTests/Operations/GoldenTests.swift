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
    let answer = answer(with: service(of: golden))
    #expect(await answer(Line(golden.request)).text == golden.reply)
  }

  @Test(arguments: Golden.table)
  func `a client and a server without lines between them agree`(golden: Golden) async throws {
    try await golden.call(service(of: golden))
  }

  @Test func `every operation that hello names is in the table`() async throws {
    let hello = try await Hello.ask(service())
    let requests = Set(Golden.table.map { $0.request.split(separator: "\"")[3] })
    #expect(requests == Set(hello.operations.map { $0[...] }))
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

/// All that may be called of what a line of the table says.
private func service(of golden: Golden) -> Exchange {
  service(golden.credentials, golden.access, golden.keySlots, golden.backups, golden.audit)
}
