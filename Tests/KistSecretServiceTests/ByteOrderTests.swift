#if SecretService
  import Foundation
  import KistBus
  import KistKeyrings
  import KistTesting
  import Testing

  @Suite(.needsBus, .needsPython, .timeLimit(.minutes(10))) struct `A big-endian program` {
    @Test func `saves a secret, also with calls that wait`() async throws {
      try await withService { (client, bus) async throws in
        let saved = try await bus.run(
          "/usr/bin/python3", ["-c", Self.program, bus.session.folder + "/bus"])
        #expect(saved.status == 0, "\(saved.errors)")
        let items = try await client.search([]).unlocked
        #expect(items.count == 8)
        let session = try await client.openPlainSession()
        for item in items {
          let secret = try await client.secret(of: item, session: session)
          #expect(secret.text == String(repeating: "correct horse ", count: 1000))
          #expect(secret.type == "text/plain")
        }
      }
    }

    /// Creates 8 items with one write.
    private static let program = """
      \(RawClient.program(order: ">"))
      secrets, root = "org.freedesktop.secrets", "/org/freedesktop/secrets"
      bus.sendall(call(2, secrets, root, "org.freedesktop.Secret.Service", "OpenSession", "sv",
                       text(signature(text(b"", "plain"), "s"), "")))
      session = re.search(rb"/org/freedesktop/secrets/session/s[0-9]+", reply())[0].decode()
      body = text(pad(array(b"", b""), 8), session)
      body = text(array(array(body, b""), b"correct horse " * 1000), "text/plain")
      body = pad(body, 4) + struct.pack(">I", 0)
      bus.sendall(b"".join(
          call(number, secrets, root + "/aliases/default", "org.freedesktop.Secret.Collection", "CreateItem",
               "a{sv}(oayays)b", body) for number in range(3, 11)))
      for _ in range(8): reply()
      """
  }
#endif
