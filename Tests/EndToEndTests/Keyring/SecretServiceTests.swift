#if SecretService && Libsecret
  import Foundation
  import KistCore
  import KistKeyrings
  import KistTesting
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10))) struct `kist-secret-service` {
    @Test func `names the program for which it makes a request in the audit log`() async throws {
      try await withPrivateBus { bus in
        try await withHome { home in
          var home = home
          home.busAddress = bus.address
          try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
            try await withSecretService(in: home, on: bus) {
              let tool = SecretTool(on: bus)
              try await tool.store("p".utf8, "service", "s", "username", "u")
              #expect(try await tool.lookup("service", "s").text == "p")
            }
            for operation in ["save", "load"] {
              let shown = try await command(
                "kist", ["audit", "--json", "--service", "s", "--operation", operation], in: home)
              let records = shown.output.split(separator: "\n")
              #expect(records.count == 1, "\(shown.output)")
              #expect(
                records.allSatisfy {
                  $0.contains(#""onBehalfOf":{"program":"secret-tool","pid":"#)
                    && $0.contains(#""claims":"kist-secret-ser""#)
                }, "\(shown.output)")
            }
            withExtendedLifetime(daemon) {}
          }
        }
      }
    }

    @Test func `serves imported items as the keyring that they come from`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let tool = SecretTool(on: bus)
        let items: [[String]] = [
          ["xdg:schema", "org.git.Password", "protocol", "https", "server", "h", "user", "alice"],
          [
            "xdg:schema", "io.docker.Credentials", "server", "ghcr.io", "username", "bob",
            "docker_cli", "1",
          ], ["xdg:schema", "org.rust-lang.cargo.registry", "url", "sparse+https://i.example/"],
          ["application", "Python keyring library", "service", "pypi", "username", "bob"],
          ["xdg:schema", "org.freedesktop.portal.Secret", "app_id", "org.example.App"],
        ]
        for (index, attributes) in items.enumerated() {
          try await tool.store(
            "secret \(index)\nline=1".utf8, label: "label \(index)", attributes)
        }
        /// What a program sees of all items, without paths and times.
        func seen() async throws -> [Set<String>] {
          var found: [Set<String>] = []
          for attributes in items {
            let item = try await tool.search(attributes[0], attributes[1])
            let lines = (item.text + item.errors).split(separator: "\n").map(String.init)
            found.append(
              Set(
                lines.filter {
                  !$0.hasPrefix("[") && !$0.hasPrefix("created") && !$0.hasPrefix("modified")
                }))
          }
          return found
        }
        let before = try await seen()
        try await withHome { home in
          var home = home
          home.busAddress = bus.address
          try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
            let end = try await command("kist", ["import", "keyring", "--yes"], in: home)
            #expect(end.status == .exited(0), "\(end.error)")
            #expect(end.output.split(separator: "\n").count == items.count, "\(end.output)")
            try await keyring.stop()
            try await withSecretService(in: home, on: bus) {
              #expect(try await seen() == before)
              // The program replaces its item, and makes no second one.
              try await tool.store("new".utf8, label: "label 0", items[0])
              #expect(try await daemon.connect().findAll().count == items.count)
            }
          }
        }
      }
    }

    @Test func `keeps its connection if a program sends many file descriptors`() async throws {
      try await withPrivateBus { bus in
        try await withHome { home in
          var home = home
          home.busAddress = bus.address
          // The first call waits for an answer of kistd, and the others for it.
          try await withMuteSocket { address in
            let socket = String(address.dropFirst("unix:path=".count))
            let words = ["--nofile=1024:1024", "kist-secret-service", "--socket", socket]
            try await withSecretService(in: home, on: bus, words, by: "prlimit") {
              let sent = try await bus.run(
                "/usr/bin/python3", ["-c", Self.sendingDescriptors, bus.session.folder + "/bus"])
              #expect(sent.status == 0, "\(sent.errors)")
            }
          }
        }
      }
    }

    /// Sends 20 calls with 200 descriptors, which no argument names, and asks for the owner of the
    /// name before and after that.
    private static let sendingDescriptors = """
      \(RawClient.program(order: "<"))
      import array as arrays
      secrets, root = "org.freedesktop.secrets", "/org/freedesktop/secrets"
      def owner(number):
          bus.sendall(call(number, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                           "GetNameOwner", "s", text(b"", secrets)))
          return reply()
      before = owner(2)
      file = os.open("/dev/null", os.O_RDONLY)
      descriptors = arrays.array("i", [file] * 200)
      for number in range(3, 23):
          message = call(number, secrets, root, "org.freedesktop.Secret.Service", "SearchItems", "a{ss}",
                         pad(array(b"", b""), 8), 200)
          bus.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
      refused = 0
      while refused < 18:
          try: reply()
          except AssertionError as error:
              assert b"LimitsExceeded" in error.args[0], error
              refused += 1
      assert owner(23) == before
      """

    @Test func `reports that no kistd listens, and how to start one`() async throws {
      try await withPrivateBus { bus in
        try await withHome { home in
          var home = home
          home.busAddress = bus.address
          try await withSecretService(in: home, on: bus) {
            let end = try await SecretTool(on: bus).lookup("service", "s")
            #expect(end.status == 1)
            #expect(end.errors.contains("no kistd is listening at "), "\(end.errors)")
            #expect(end.errors.contains("start one with `"), "\(end.errors)")
          }
        }
      }
    }
  }

  /// Runs kist-secret-service until the body returns.
  private func withSecretService(
    in home: Home, on bus: PrivateBus, _ words: [String] = [], by program: String? = nil,
    _ body: () async throws -> Void
  ) async throws {
    let end = try await run(
      .name(program ?? "kist-secret-service"), arguments: Arguments(words),
      environment: home.environment,
      input: .string(""), output: .discarded, error: .string(limit: 1 << 20)
    ) { execution in
      defer { try? execution.send(signal: .terminate) }
      try await poll("the service has its name") { try await bus.hasProvider() }
      try await body()
    }
    #expect(end.standardError.isEmpty, "\(end.standardError)")
  }
#endif
