#if Libsecret
  import Foundation
  import KistKeyrings
  import KistTesting
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .needsPython, .timeLimit(.minutes(10)))
  struct `The setup of kist-secret-service` {
    private static let names = [
      "org.freedesktop.secrets", "io.kist.SecretService",
      "org.freedesktop.impl.portal.desktop.kist",
    ]

    /// Owns the two names of kist-secret-service, and serves nothing.
    private static let adapter = """
      #!/usr/bin/python3
      import dbus.bus, dbus.mainloop.glib, os
      from gi.repository import GLib
      dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
      bus = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
      bus.set_exit_on_disconnect(True)
      for name in (
          "io.kist.SecretService", "org.freedesktop.impl.portal.desktop.kist", "org.freedesktop.secrets"):
          bus.request_name(name, dbus.bus.NAME_FLAG_DO_NOT_QUEUE)
      GLib.MainLoop().run()

      """

    /// Runs a test in a home with copies of the programs, beside which the adapter is.
    private func withPrograms(_ body: (Home) async throws -> Void) async throws {
      try await withHome { home in
        // Other processes copy, because a program that this process has open for writing cannot start.
        let script = """
          mkdir -m 700 "$HOME/bin" && cp "$@" "$HOME/bin" && cat > "$HOME/bin/kist-secret-service" \
            && chmod 755 "$HOME/bin/kist-secret-service"
          """
        let copied = try await command(
          "sh", ["-c", script, "sh", programs + "/kist", programs + "/kistd"], in: home,
          input: Self.adapter)
        try #require(copied.status == .exited(0), "\(copied.error)")
        try await body(home)
      }
    }

    private func kist(_ words: [String], in home: Home) async throws -> CommandResult {
      try await command("env", [home.path + "/bin/kist"] + words, in: home)
    }

    private func files(in home: Home) -> [String] {
      let folder = home.path + "/.local/share/dbus-1/services"
      return (try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()) ?? []
    }

    @Test func `makes a real session bus start it, in place of the system's keyring`() async throws
    {
      try await withPrograms { home in
        let start =
          "gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus "
          + "--method org.freedesktop.DBus.StartServiceByName org.freedesktop.secrets 0"
        let script = """
          PATH=$HOME/bin:$PATH
          kist setup secret-service --apply >&2 && echo applied
          kistd probe --json
          kistd probe --provider
          \(start)
          kistd probe
          kist doctor
          kist setup secret-service --apply >&2 && echo again
          export XDG_DATA_DIRS=$HOME/other
          kist setup secret-service --undo >&2 && kist setup secret-service --apply >&2
          mkdir -p $XDG_DATA_DIRS/dbus-1/services
          touch $XDG_DATA_DIRS/dbus-1/services/org.freedesktop.secrets.service
          kist setup secret-service --undo >&2 && echo undone
          kist setup secret-service --undo >&2
          """
        // Without the variable, the bus looks in the home directory of passwd(5).
        let words = [
          "XDG_DATA_HOME=\(home.path)/.local/share", "dbus-run-session", "--", "sh", "-c", script,
        ]
        let end = try await command("env", words, in: home)
        let output = end.output
        #expect(output.hasPrefix("applied\n"), "\(end.error)")
        // kistd did not start it to keep credentials there.
        #expect(output.contains("}],\"provider\":{\"startable\":\"kist\"}}\n"), "\(output)")
        #expect(output.contains("\n{\"startable\":\"kist\"}\n"), "\(output)")
        #expect(output.contains("(uint32 1,)\n"), "\(output) \(end.error)")
        #expect(
          output.contains(
            "\nkeyring: not usable: the keyring on the session bus is kist's own, "), "\(output)")
        #expect(output.contains("\nstorage: encrypted-file\n"))
        #expect(output.contains("get kist's credentials, from kist-secret-service (process "))
        #expect(output.hasSuffix("again\nundone\n"), "\(end.error)")
        #expect(end.error.contains("the session bus starts kist-secret-service already\n"))
        #expect(end.error.contains("kist-secret-service still runs\n"))
        #expect(end.error.contains("no other program is set up to provide a keyring\n"))
        #expect(
          end.error.contains(
            "for programs that use a keyring, the session bus starts the program in \(home.path)/other/dbus-1/"
              + "services/org.freedesktop.secrets.service again\n"))
        #expect(end.error.hasSuffix("there is nothing to undo\n"))
        #expect(files(in: home).isEmpty)
      }
    }

    @Test func `writes nothing while another keyring has items`() async throws {
      try await withPrivateBus { bus in
        // With this attribute, it is not an item of kistd.
        let items = [MockProvider.Item("example.org", "alice", ["more": "x"], value: "x")]
        _ = try await MockProvider(holding: items, on: bus)
        try await withPrograms { home in
          var home = home
          home.busAddress = bus.address
          let refused = try await kist(["setup", "secret-service", "--apply"], in: home)
          #expect(refused.status == .exited(3))
          #expect(refused.error.contains(" provides a keyring with 1 item, which programs would"))
          #expect(files(in: home).isEmpty)
          let hidden = try await kist(
            ["setup", "secret-service", "--apply", "--hide-keyring"], in: home)
          #expect(hidden.status == .exited(0))
          #expect(hidden.error.contains(" provides the keyring until it ends, and kist from then"))
          #expect(files(in: home) == Self.names.map { $0 + ".service" }.sorted())
          let exec = "Exec=\(home.path)/bin/kist-secret-service\n"
          for name in files(in: home) {
            let path = "\(home.path)/.local/share/dbus-1/services/\(name)"
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains(exec))
          }
        }
      }
    }

    @Test func `writes nothing while kistd keeps its credentials in another keyring`() async throws
    {
      try await withPrivateBus { bus in
        let items = [MockProvider.Item("example.org", "alice", value: "x")]
        _ = try await MockProvider(holding: items, on: bus)
        try await withPrograms { home in
          var home = home
          home.busAddress = bus.address
          let refused = try await kist(
            ["setup", "secret-service", "--apply", "--hide-keyring"], in: home)
          #expect(refused.status == .exited(3))
          #expect(
            refused.error.contains("place of the keyring, where kistd keeps your credentials"))
          #expect(files(in: home).isEmpty)
        }
      }
    }

    @Test func `keeps a file that kist did not write`() async throws {
      try await withPrograms { home in
        let folder = home.path + "/.local/share/dbus-1/services"
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/org.freedesktop.secrets.service"
        let text = "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/true\n"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        for option in ["--apply", "--undo"] {
          let end = try await kist(["setup", "secret-service", option], in: home)
          #expect(end.status == .exited(3))
          #expect(end.error.contains("kist did not write \(path), and did not change it\n"))
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        #expect(files(in: home).count == 1)
      }
    }
  }

  extension Trait where Self == ConditionTrait {
    /// Requires what the test provider needs, and a bus for one command.
    fileprivate static var needsPython: Self {
      let packages = KeyringPart.missingPackages(for: [.python, .dbusDaemon, .gdbus])
      return .needs(
        "the Debian packages \(packages.joined(separator: ", ")), to run a test provider",
        packages.isEmpty)
    }
  }
#endif
