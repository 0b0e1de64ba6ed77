import KistCore
import Testing

@Suite(.timeLimit(.minutes(2))) struct `The lines of a connection` {
  @Test func `pipelined lines are answered in order`() async throws {
    let lines = (1...500).map { "line \($0)\n" }.joined()
    try await withServer { server in
      let client = try server.connect()
      await client.send(lines)
      client.endSending()
      #expect(await client.rest() == lines)
    }
  }

  @Test(arguments: [
    ("a\nb\n", "a\nb\n"), ("\n \n\t\r\na\n\n", "a\n"), ("a\r\n", "a\r\n"), ("", ""),
  ])
  func `a client that ends its stream still gets its replies; blank lines are skipped`(
    sent: String, answered: String
  ) async throws {
    try await withServer { server in
      let client = try server.connect()
      await client.send(sent)
      client.endSending()
      #expect(await client.rest() == answered)
    }
  }

  @Test func `a line may come byte by byte`() async throws {
    try await withServer { server in
      let client = try server.connect()
      for byte in "{\"op\":\"hello\"}\n" { await client.send(String(byte)) }
      #expect(await client.line() == "{\"op\":\"hello\"}\n")
    }
  }

  @Test func `a line cut by the end of the stream is a bad request and is not carried out`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      await client.send("a\nb")
      client.endSending()
      #expect(await client.line() == "a\n")
      let refusal = await client.rest()
      #expect(refusal.contains("\"badRequest\""))
      #expect(refusal.hasSuffix("}\n"))
    }
  }

  @Test func `a line of 1 MiB is answered`() async throws {
    let line = String(repeating: "x", count: Limits.line) + "\n"
    try await withServer { server in
      let client = try server.connect()
      await client.send(line)
      #expect(await client.line() == line)
    }
  }

  @Test(arguments: ["", "\nb\n"])
  func `a line that never ends is too large, and the connection is closed`(_ end: String)
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      await client.send("a\n")
      await client.send(String(repeating: "x", count: Limits.line + 1) + end)
      #expect(await client.line() == "a\n")
      let refusal = await client.rest()
      #expect(refusal.contains("\"tooLarge\""))
      #expect(refusal.split(separator: "\n").count == 1)
    }
  }
}
