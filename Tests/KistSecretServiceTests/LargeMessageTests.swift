#if SecretService
  import Foundation
  import KistBus
  import KistKeyrings
  import KistTesting
  import Testing

  @Suite(.needsBus, .needsPython, .timeLimit(.minutes(10)))
  struct `A message that is too large to be received` {
    @Test func `does not end the service, which keeps the collection session`() async throws {
      try await withService { (client, bus) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create(
          "x", [("a", "b")], in: root + "/aliases/session", session: session)
        let owner = try await bus.owner()
        let sent = try await bus.run(
          "/usr/bin/python3", ["-c", Self.program, bus.session.folder + "/bus"])
        #expect(sent.status == 0, "\(sent.errors)")
        try await poll("the service has its name again") {
          let other = try await bus.owner()
          return other != owner && !other.isEmpty
        }
        await expectError(noSession) { _ = try await client.secret(of: item, session: session) }
        let again = try await client.openPlainSession()
        #expect(try await client.secret(of: item, session: again).text == "x")
        #expect(try await client.search([("a", "b")]).unlocked == [item])
      }
    }

    /// Sends a message of nearly 128 MiB, to which the bus adds the name of its sender.
    private static let program = """
      \(RawClient.program(order: "<"))
      def message(size):
          return call(2, "org.freedesktop.secrets", "/org/freedesktop/secrets", "a.b", "C", "ayay",
                      array(array(b"", bytes(1 << 26)), bytes(size)))
      bus.sendall(message((1 << 27) - 8 - len(message(0))))
      # The bus answers when the service has lost its connection.
      try: reply()
      except AssertionError: pass
      """
  }

  extension PrivateBus {
    /// The unique name of the connection that provides the Secret Service; empty if there is none.
    fileprivate func owner() async throws -> String {
      try await run(
        "/usr/bin/gdbus",
        [
          "call", "--address", address, "--dest", "org.freedesktop.DBus", "--object-path",
          "/org/freedesktop/DBus", "--method", "org.freedesktop.DBus.GetNameOwner",
          "org.freedesktop.secrets",
        ]
      ).text
    }
  }
#endif
