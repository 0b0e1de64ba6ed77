import Foundation
import Glibc
import KistCore
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kist doctor and kistd probe` {
  @Test func `doctor finds no problem if kistd answers`() async throws {
    try await withHome { home in
      _ = try await withDaemon(in: home) { _ in
        let end = try await command("kist", ["doctor"], in: home)
        #expect(end.status == .exited(0), "\(end.output)")
        #expect(end.output.contains(" answers at \(home.path)"))
        #expect(end.output.contains("\nok\tstorage\tthe encrypted file: "))
        #expect(end.output.contains("\nok\tkeyring\tnot used: "))
        #expect(end.output.contains("\nok\tfiles\tother users have no access to \(home.path)"))
        #expect(end.error.isEmpty)
      }
    }
  }

  @Test func `doctor reports the storage that kistd would open, and creates no file`() async throws
  {
    try await withHome { home in
      let before = try contents(of: home)
      let end = try await command("kist", ["doctor"], in: home)
      #expect(end.status == .exited(7))
      #expect(end.output.hasPrefix("problem\tkistd\t"))
      #expect(end.output.contains("\nok\tstorage\tkistd would open the encrypted file: "))
      #expect(try contents(of: home) == before)
    }
  }

  @Test(arguments: ["kistd -- true", "echo horse | kistd --passphrase-fd 0 -- true"])
  func `doctor advises about backups of the key file only if it opens the store`(start: String)
    async throws
  {
    try await withHome { home in
      let script = """
        \(start); umask 077; mkdir -p ~/.local/state/kist; cd ~/.local/state/kist
        [ -e key ] || head -c 32 /dev/zero > key; kist doctor
        """
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.output.contains("\nok\tstorage\t"), "\(end.output)\(end.error)")
      #expect(end.output.contains("\nnote\tbackup\t") == !start.contains("horse"), "\(end.output)")
    }
  }

  @Test func `doctor reports a directory open to other users and a program that shadows kist`()
    async throws
  {
    try await withHome { home in
      _ = try await withDaemon(in: home) { _ in
        let store = URL(filePath: home.store).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: store)
        let end = try await command("kist", ["doctor", "--json"], in: home)
        #expect(end.status == .exited(0))
        #expect(
          end.output.contains(
            #"{"state":"note","subject":"files","message":"other users have access to \#(store)"#))
        let other = home.path + "/other/kist"
        try FileManager.default.createDirectory(
          atPath: home.path + "/other", withIntermediateDirectories: false)
        try "#!/bin/sh\n".write(toFile: other, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: other)
        let script = #"kist=$(command -v kist); PATH="$HOME/other:$PATH" exec "$kist" doctor"#
        let inTheWay = try await command("sh", ["-c", script], in: home)
        #expect(inTheWay.output.contains("but the command `kist` runs \(other)\t"))
      }
    }
  }

  @Test func `probe reports the storage that kistd would choose, or why it cannot be opened`()
    async throws
  {
    try await withHome { home in
      let chosen = try await command("kistd", ["probe"], in: home)
      #expect(chosen.status == .exited(0), "\(chosen.error)")
      #expect(chosen.output.hasPrefix("storage: encrypted-file\nreason: the encrypted file: "))
      #expect(chosen.output.contains("\nkeyring: not usable: "))
      let key = home.path + "/key"
      try Data(count: 32).write(to: URL(filePath: key))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
      let open = try await command("kistd", ["probe", "--key-file", key], in: home)
      #expect(open.status == .exited(6), "\(open.output)")
      #expect(open.output.contains("has mode 644"))
      let state = home.path + "/.local/state/kist"
      try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
      try "nonsense\n".write(toFile: state + "/storage", atomically: false, encoding: .utf8)
      let refused = try await command("kistd", ["probe", "--json"], in: home)
      #expect(refused.status == .exited(10), "\(refused.output)")
      #expect(refused.output.hasPrefix(#"{"error":{"code":"corrupt","#))
    }
  }

  @Test func `probe beside a running kistd says that it runs, and what shows it`() async throws {
    try await withHome { home in
      let script = "kistd -- sh -c 'kistd probe; echo $PPID; kist status >&2'"
      let end = try await command("sh", ["-c", script], in: home)
      let lines = end.output.split(separator: "\n")
      #expect(
        lines.prefix(3) == [
          "storage: cannot be opened",
          "reason: kistd (pid \(lines.last ?? "")) is running with this store",
          "hint: use that kistd, as `kist` does: `kist status` shows it; "
            + "or stop it: `kill \(lines.last ?? "")`",
        ], "\(end.output)")
      #expect(end.error.contains("storage: encrypted-file"), "\(end.error)")
    }
  }

  @Test
  func `a recorded keyring without a session bus is refused by the start, by probe and by doctor`()
    async throws
  {
    try await withHome { home in
      let script = """
        mkdir -p -m 700 ~/.local/state/kist
        umask 077
        echo 'kist-storage-1 libsecret' > ~/.local/state/kist/storage
        kistd || echo "start $?"
        kistd probe || echo "probe $?"
        kist doctor || echo "doctor $?"
        """
      let end = try await command("sh", ["-c", script], in: home)
      let expected = [
        "start 7", "storage: cannot be opened", "reason: there is no session bus", "probe 7",
        "problem\tstorage\tthere is no session bus", "doctor 7",
      ]
      for line in expected { #expect(end.output.contains(line), "\(end.output) \(end.error)") }
    }
  }

  @Test(arguments: ["KIST_AUTOSTART=0", "KIST_SOCKET=/proc/none"])
  func `doctor names the socket of a kistd that kist does not look for`(variable: String)
    async throws
  {
    try await withHome { home in
      let script = """
        kistd -- sh -c '
          echo "$KIST_SOCKET"
          env --unset=KIST_SOCKET \(variable) kist doctor
          env --unset=KIST_SOCKET \(variable) kist status >&2'
        """
      let end = try await command("sh", ["-c", script], in: home)
      let lines = end.output.split(separator: "\n")
      let socket = try #require(lines.first)
      #expect(lines[1].contains("but one serves the storage at \(socket)\t"), "\(end.output)")
      #expect(lines[1].hasSuffix("\tuse that socket: `export KIST_SOCKET=\(socket)`"))
      #expect(!end.output.contains("as `kist` does"), "\(end.output)")
      #expect(end.error.contains("no kistd is listening"), "\(end.error)")
    }
  }

  @Test(arguments: [".local/share/kist", ".local/state/kist", "data", "notes/kist"])
  func `a directory that others may write to is refused by the start, by probe and by doctor`(
    name: String
  ) async throws {
    try await withHome { home in
      let directory = home.path + "/" + name
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
      // A passphrase opens the last store, so that only its progress note is in that directory.
      let script = """
        case \(name) in
          data) export KISTD_DATA="$HOME/data" ;;
          notes/kist) export KISTD_DATA="$HOME/store" XDG_STATE_HOME="$HOME/notes"
            KISTD_STORAGE=encrypted-file KISTD_PASSPHRASE_FD=3 exec "$@" 3<<E ;;
        correct horse
        E
        esac
        exec "$@"
        """
      for words in [["kistd", "--", "true"], ["kistd", "probe"], ["kist", "doctor"]] {
        let end = try await command("sh", ["-c", script, "sh"] + words, in: home)
        // kistd is not running, which is the first problem that doctor finds.
        let status: CInt = words == ["kist", "doctor"] ? 7 : 6
        #expect(end.status == .exited(status), "\(words): \(end.error)")
        let said = end.output + end.error
        #expect(said.contains("other users may write to"), "\(words): \(said)")
        #expect(said.contains(directory), "\(words): \(said)")
        #expect(try contents(of: home).allSatisfy { !$0.contains("credentials.db") })
      }
    }
  }

  @Test(arguments: [
    ("KISTD_DATA=store", "KISTD_DATA must be an absolute path"),
    ("KISTD_DEADLINE=3", "KISTD_DEADLINE has no unit"),
    ("KISTD_IDLE_EXIT=5m", "KISTD_IDLE_EXIT "),
  ])
  func `a variable with which kist cannot start kistd is named by doctor and kist`(
    variable: String, problem: String
  ) async throws {
    try await withAutostart { home in
      let end = try await command("env", [variable, "kist", "doctor"], in: home)
      #expect(end.status == .exited(7), "\(end.output)")
      #expect(end.output.contains("\nproblem\tstorage\t\(problem)"), "\(end.output)")
      let list = try await command("env", [variable, "kist", "list"], in: home)
      #expect(list.status == .exited(7))
      #expect(list.error.hasPrefix("kist: kistd did not start: \(problem)"), "\(list.error)")
    }
  }

  @Test func `the hint for a directory that others may write to makes kistd start`() async throws {
    try await withAutostart { home in
      let script = """
        export XDG_RUNTIME_DIR="$HOME/.local/state"
        kistd -- true; chmod 777 ~/.local/state/kist
        kist list 2>&1 | sed -n 's/^hint: `\\(chmod [^`]*\\)`.*/\\1/p' > ~/fix
        sh ~/fix && kist list && kill "$(cat ~/.local/state/kist/kist.sock.lock)"
        """
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.status == .exited(0), "\(end.output)\(end.error)")
    }
  }

  @Test func `doctor reports a directory with which a running kistd would not start again`()
    async throws
  {
    try await withHome { home in
      _ = try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(.sample())
        let store = URL(filePath: home.store).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: store)
        let end = try await command("kist", ["doctor"], in: home)
        #expect(end.status == .exited(6), "\(end.error)")
        #expect(end.output.contains("problem\trestart\tkistd would not start again: "))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: store)
      }
    }
  }

  @Test func `doctor reports a storage that a running kistd cannot open`() async throws {
    try await withHome { home in
      // Without an address, kistd would not start.
      var home = home
      home.busAddress = "unix:path=\(home.path)/no-bus"
      let words = ["--storage", "libsecret", "--", "kist", "doctor"]
      let end = try await command("kistd", words, in: home)
      #expect(end.status == .exited(7), "\(end.error)")
      #expect(end.output.hasPrefix("ok\tkistd\t"), "\(end.output)")
      #expect(end.output.contains("\nproblem\tstorage\t"), "\(end.output)")
    }
  }

  @Test func `probe does not prevent a kistd from starting`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(.sample())
      }
      let probing = Task {
        while !Task.isCancelled { _ = try await command("kistd", ["probe"], in: home) }
      }
      for _ in 0..<10 {
        let end = try await withDaemon(in: home) { daemon in
          let all = try await daemon.connect().findAll()
          #expect(all.count == 1)
        }
        #expect(end.status == .exited(0), "\(end.log)")
      }
      probing.cancel()
      try await probing.value
    }
  }

  @Test func `doctor works for a user without an entry in the user database`() async throws {
    try await withHome { home in
      let end = try await command(
        "unshare", ["--user", "--map-user=4242", "kist", "doctor"], in: home)
      #expect(end.status == .exited(7), "\(end.error)")
      #expect(end.output.contains("\nok\tstorage\t"), "\(end.output)")
    }
  }

  @Test func `doctor finds secrets in plain text, prints none of them, and waits for no FIFO`()
    async throws
  {
    try await withHome { home in
      try "https://alice:hunter2@git.example\n".write(
        toFile: home.path + "/.git-credentials", atomically: false, encoding: .utf8)
      #expect(unsafe mkfifo(home.path + "/.bash_history", 0o600) == 0)
      _ = try await withDaemon(in: home) { _ in
        for words in [["doctor"], ["doctor", "--json"]] {
          let end = try await command("kist", words, in: home)
          #expect(end.status == .exited(0), "\(end.output)")
          #expect(end.output.contains("/.git-credentials has 1 credential in plain text"))
          #expect(end.output.contains("/.bash_history: not checked for secrets, because it is"))
          #expect(!end.output.contains("hunter2") && !end.output.contains("alice"))
        }
      }
    }
  }

  private func contents(of home: Home) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted()
  }
}
