#if SecretService
  import Foundation
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  @testable import KistSecretServiceProgram
  import KistTesting
  import Testing

  private let pinentry = "/usr/bin/pinentry-gtk-2"

  @Suite(.serialized, .needsBus, .needsPinentry, .timeLimit(.minutes(3)))
  struct `The window of pinentry` {
    private func withScreen(_ body: (Screen, Display) async throws -> Void) async throws {
      try await withSession { session in
        let screen = try await Screen(in: session)
        try await body(screen, try #require(Display(["DISPLAY=" + screen.name])))
      }
    }

    @Test(arguments: [true, false])
    func `returns the passphrase that the user types`(wasWrong: Bool) async throws {
      try await withScreen { screen, display in
        let dialog = Dialog(kind: .passphrase(wasWrong: wasWrong), text: "100%\nsure?")
        async let answer = Pinentry(program: pinentry).ask(dialog, on: display)
        try await screen.type("50% of %41 b", "Return", in: try await screen.waitForWindow())
        guard case .passphrase(let passphrase) = await answer else {
          Issue.record("no passphrase")
          return
        }
        #expect(passphrase == Secret(utf8: "50% of %41 b"))
        #expect(try await !screen.hasWindow())
      }
    }

    // Return alone does not confirm.
    @Test(arguments: [(["Tab", "Return"], true), (["Return"], false), (["Escape"], false)])
    func `asks for a confirmation`(keys: [String], isConfirmed: Bool) async throws {
      try await withScreen { screen, display in
        let dialog = Dialog(kind: .confirmation(button: "Delete"), text: "Delete it?")
        async let answer = Pinentry(program: pinentry).ask(dialog, on: display)
        let window = try await screen.waitForWindow()
        for key in keys { try await screen.type("", key, in: window) }
        let found = await answer
        if isConfirmed {
          guard case .confirmed = found else { throw Unexpected(answer: found) }
        } else {
          guard case .dismissed = found else { throw Unexpected(answer: found) }
        }
      }
    }

    @Test(arguments: [
      Dialog.Kind.passphrase(wasWrong: false), .confirmation(button: "Delete"), .message,
    ])
    func `closes when the task is cancelled, and when the time is over`(
      kind: Dialog.Kind
    ) async throws {
      try await withScreen { screen, display in
        let task = Task { [pinentry = Pinentry(program: pinentry)] in
          await pinentry.ask(Dialog(kind: kind, text: "?"), on: display)
        }
        try await screen.waitForWindow()
        task.cancel()
        _ = await task.value
        #expect(try await !screen.hasWindow())

        let brief = Pinentry(program: pinentry, patience: .milliseconds(1))
        let answer = await brief.ask(Dialog(kind: kind, text: "?"), on: display)
        guard case .failed = answer else {
          guard case .dismissed = answer else { throw Unexpected(answer: answer) }
          return
        }
      }
    }

    @Test func `unlocks kist for a program, after a typo`() async throws {
      let lockable = Lockable()
      try await withPrivateBus { bus in
        let screen = try await Screen(in: bus.session)
        let display = try #require(Display(["DISPLAY=" + screen.name]))
        let access = lockable.functions().access
        _ = startService(on: bus.address) { connection in
          lockable.functions(
            asking: Asking(
              UserPrompts(
                connection, access, pinentry: Pinentry(program: pinentry),
                findDisplay: { _ in display })))
        }
        try await poll("the service has its name") { try await bus.hasProvider() }
        let client = try await BusClient.connect(to: bus.address)
        let (paths, prompt) = try await client.move("Unlock", [defaultAlias])
        #expect(paths == [])
        try await client.show(prompt, window: "0x1")
        let first = try await screen.waitForWindow()
        try await screen.type("typo", "Return", in: first)
        let second = try await screen.waitForWindow(after: first)
        try await screen.type(Lockable.passphrase, "Return", in: second)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0].paths == [defaultAlias])
        #expect(try await client.search([]).unlocked.count == 1)

        // A prompt that the program dismisses closes its window.
        _ = try await client.move("Lock", [defaultAlias])
        let dismissed = try await client.move("Unlock", [defaultAlias]).prompt
        try await client.show(dismissed)
        try await screen.waitForWindow()
        try await client.dismiss(dismissed)
        try await poll("the window closes") { try await !screen.hasWindow() }

        // So does a prompt of a program that ends.
        let ended = try await bus.run(
          "/usr/bin/python3", ["-c", Self.endingProgram, defaultAlias, screen.name])
        try #require(ended.status == 0, "\(ended.errors)")
        try await poll("the window closes") { try await !screen.hasWindow() }
      }
    }

    /// Shows a prompt, and ends once there is a window.
    private static let endingProgram = """
      import dbus, os, subprocess, sys, time
      os.environ["DISPLAY"] = sys.argv[2]
      bus = dbus.SessionBus()
      def call(path, interface, method, *arguments):
          target = bus.get_object("org.freedesktop.secrets", path)
          return target.get_dbus_method(method, "org.freedesktop.Secret." + interface)(*arguments)
      _, prompt = call("/org/freedesktop/secrets", "Service", "Unlock", [dbus.ObjectPath(sys.argv[1])])
      call(prompt, "Prompt", "Prompt", "")
      search = ["xdotool", "search", "--onlyvisible", "--name", "."]
      while subprocess.call(search, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
          time.sleep(0.01)
      """
  }

  @Suite(.timeLimit(.minutes(10))) struct `A broken pinentry` {
    /// Runs a script in place of pinentry.
    private func ask(_ script: String, within patience: Duration = .seconds(300)) async throws
      -> DialogAnswer
    {
      try await withSession { session in
        let path = session.folder + "/pinentry"
        // Another process writes it, because a program that this one has open cannot start.
        let written = try await session.run(
          "/bin/sh", ["-c", "cat > \(path) && chmod 700 \(path)"],
          input: Data(("#!/bin/sh\n" + script + "\n").utf8))
        try #require(written.status == 0)
        return await Pinentry(program: path, patience: patience).ask(
          Dialog(kind: .passphrase(wasWrong: false), text: "?"),
          on: try #require(Display(["DISPLAY=:99999"])))
      }
    }

    @Test(arguments: [
      "exit 0", "echo ERR 1",
      "yes | head -c 100000 | tr -d '\\n'",
      // No display.
      "echo OK; while read line; do case $line in GETPIN) echo ERR 83886163;; *) echo OK; esac; done",
      // A passphrase over the limit.
      "echo OK; while read line; do echo D $(printf %01000d 0); echo D 1$(printf %0100d 0); echo OK; done",
    ])
    func `gives no answer`(script: String) async throws {
      let answer = try await ask(script)
      guard case .failed = answer else { throw Unexpected(answer: answer) }
    }

    @Test func `ends after some time if it does not reply`() async throws {
      let answer = try await ask("echo OK; exec sleep 1000", within: .milliseconds(100))
      guard case .failed = answer else { throw Unexpected(answer: answer) }
    }

    @Test func `may refuse a setting, and send a passphrase in parts`() async throws {
      let answer = try await ask(
        """
        echo OK hello
        while read line; do
          case $line in
            SETTITLE*) echo ERR 536871187 Unknown;;
            GETPIN) echo '# x'; echo D bat; echo D tery%20sta; echo D ple; echo OK;;
            *) echo OK;;
          esac
        done
        """)
      guard case .passphrase(let passphrase) = answer else { throw Unexpected(answer: answer) }
      #expect(passphrase == Secret(utf8: "battery staple"))
    }
  }

  private struct Unexpected: Error { let answer: DialogAnswer }
#endif
