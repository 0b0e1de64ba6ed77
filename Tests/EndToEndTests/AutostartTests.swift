import Foundation
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(3))) struct `A kist without a running kistd` {
  @Test func `starts one, which serves the next kist, too`() async throws {
    try await withAutostart { home in
      let saved = try await command("kist", ["save", "s", "a"], in: home, input: "pw")
      #expect(saved.status == .exited(0))
      #expect(saved.output + saved.error == "")
      let daemon = try #require(home.daemon)
      let loaded = try await command("kist", ["load", "s", "a"], in: home)
      #expect(loaded.output == "pw", "\(loaded.error)")
      #expect(home.daemon == daemon)
    }
  }

  @Test func `shows at a terminal the note about a new store, which kistd also logs`() async throws
  {
    try await withAutostart { home in
      let saved = try await command(
        "script", ["-qec", "kist save s --generate 24", "/dev/null"], in: home)
      #expect(saved.status == .exited(0), "\(saved.output)")
      let notice = "opens only with the key file \(home.path)/.local/state/kist/key: keep a copy"
      let shown = saved.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(shown.contains(notice))
      let log = try String(contentsOfFile: home.daemonLog, encoding: .utf8)
      #expect(log.contains("kistd: notice: made a new store, "), "\(log)")
      #expect(log.contains(notice))
    }
  }

  @Test func `reports to scripts a new store in a directory that KISTD_DATA names`() async throws {
    try await withAutostart { home in
      let load = "KISTD_DATA=$HOME/stroe kist load s || echo $?"
      let end = try await command("sh", ["-c", "\(load); \(load)"], in: home)
      #expect(end.output == "2\n2\n")
      let lines = end.error.split(separator: "\n")
      try #require(lines.count == 5, "\(end.error)")
      #expect(lines[0].hasPrefix("kist: kistd made a new store, \(home.path)/stroe/"))
      #expect(lines[1] == lines[3] && lines[2] == lines[4])
    }
  }

  @Test func `starts one kistd, however many kist run at once`() async throws {
    try await withAutostart { home in
      let saves = "for i in $(seq 30); do kist save s a$i <<<pw & done; wait"
      let end = try await command("bash", ["-c", "\(saves); kist list | wc -l"], in: home)
      #expect(end.output == "30\n")
      #expect(end.error == "")
      let started = try await command("pgrep", ["-cf", "detach.*\(home.socket)"], in: home)
      #expect(started.output == "1\n")
    }
  }

  @Test(arguments: [
    "git-credential-kist get < <(echo -e 'protocol=https\\nhost=h')", "kist unlock", "kist audit",
  ])
  func `starts one for a command of any kind`(line: String) async throws {
    try await withAutostart { home in
      let link = home.path + "/git-credential-kist"
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: programs + "/kist")
      let end = try await command("bash", ["-c", "PATH=~:$PATH; \(line)"], in: home)
      #expect(end.error == "")
      #expect(home.daemon != nil)
    }
  }

  @Test(arguments: ["x=$(kist list)", "kist list 2>&1 | cat", "kist list 9>&1 | cat"])
  func `leaves it no descriptor, so that the pipe of the caller ends`(line: String) async throws {
    try await withAutostart { home in
      let end = try await command("bash", ["-c", line], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      let process = "/proc/\(try #require(home.daemon))"
      let streams = try (0...2).map { try home.destination(of: "\(process)/fd/\($0)") }
      #expect(streams == ["/dev/null", "/dev/null", home.daemonLog])
    }
  }

  @Test(.needsRoot("to read the memory of kistd"))
  func `gives it a session and a directory of its own, and no secret`() async throws {
    try await withAutostart { home in
      let end = try await command(
        "sh", ["-c", "umask 0; cd /usr && TOKEN=swordfish kist list"], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      let daemon = try #require(home.daemon)
      #expect(getsid(daemon) == daemon)
      #expect(try home.destination(of: "/proc/\(daemon)/cwd") == "/")
      #expect(try !wholeText(of: "/proc/\(daemon)/environ").contains("swordfish"))
      let attributes = try FileManager.default.attributesOfItem(atPath: home.daemonLog)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test(arguments: [
    ("KIST_AUTOSTART=0 kist list", "kistd --detach"),
    ("KIST_SOCKET=$XDG_RUNTIME_DIR/s kist list", "kistd --detach --socket"),
    ("kist list --socket $XDG_RUNTIME_DIR/s", "kistd --detach"),
    ("kist status", "`kist list` starts it, or says why it cannot start"),
  ])
  func `starts none if it must not, and says how to`(line: String, hint: String) async throws {
    try await withAutostart { home in
      let end = try await command("sh", ["-c", line], in: home)
      #expect(end.status == .exited(7))
      #expect(end.error.contains(hint))
      let made = try FileManager.default.subpathsOfDirectory(atPath: home.path)
      #expect(made == ["run"])
    }
  }

  @Test(arguments: [
    ("chmod 644 ~/.local/state/kist/key", 6, "has mode 644", "chmod 600"),
    ("export KISTD_DEADLINE=3", 7, "KISTD_DEADLINE has no unit", "write 3s"),
    ("export KISTD_DATA=store", 7, "KISTD_DATA must be an absolute path", "$PWD"),
    ("echo x > ~/.local/share/kist/credentials.db", 10, "credentials.db", "kistd fsck"),
  ])
  func `reports why kistd did not start`(
    fault: String, status: Int32, reason: String, hint: String
  ) async throws {
    try await withAutostart { home in
      let end = try await command(
        "sh", ["-c", "kistd -- true 2>/dev/null; \(fault); kist list"], in: home)
      #expect(end.status == .exited(status))
      let lines = end.error.split(separator: "\n")
      #expect(lines.first?.hasPrefix("kist: kistd did not start: ") == true, "\(end.error)")
      #expect(lines.first?.contains(reason) == true, "\(end.error)")
      #expect(lines.last?.contains(hint) == true, "\(end.error)")
    }
  }

  @Test func `status and doctor find the kistd of a command, as other commands do`() async throws {
    try await withAutostart { home in
      let script = """
        kistd -- sh -c 'echo; sleep 60' > ~/started & daemon=$!
        until [ -s ~/started ]; do :; done
        kist status | head -1; kist doctor | head -1; kill $daemon; wait
        """
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.output.contains("storage: encrypted-file\nok\tkistd\t"), "\(end.error)")
      #expect(end.output.contains("/kist-"), "\(end.output)")
    }
  }

  @Test func `reports that there is no kistd`() async throws {
    try await withAutostart { home in
      // Another process copies it: a child of this one could keep the copy open for writing.
      let copied = "cp \(programs)/kist ~/kist; PATH=/usr/bin:/bin; ~/kist list"
      let end = try await command("sh", ["-c", copied], in: home)
      #expect(end.status == .exited(7))
      #expect(end.error.contains("there is no program kistd"))
    }
  }

  @Test func `starts one that is locked if only a passphrase opens the store`() async throws {
    try await withAutostart { home in
      let made = try await command(
        "kistd", ["--passphrase-fd", "0", "--", "true"], in: home, input: "correct horse")
      try #require(made.status == .exited(0), "\(made.error)")
      let locked = try await command("kist", ["list"], in: home)
      #expect(locked.status == .exited(5), "\(locked.error)")
      let opened = try await command("kist", ["unlock"], in: home, input: "correct horse")
      #expect(opened.status == .exited(0), "\(opened.error)")
      let listed = try await command("kist", ["list"], in: home)
      #expect(listed.status == .exited(0), "\(listed.error)")
    }
  }

  @Test func `starts none without a session bus if the credentials are in the keyring`()
    async throws
  {
    try await withAutostart { home in
      let pin = home.path + "/.local/state/kist/storage"
      let makePin = "umask 77; mkdir -p ~/.local/state/kist; echo kist-storage-1 libsecret > \(pin)"
      let line = "\(makePin); kist list"
      let end = try await command("sh", ["-c", line], in: home)
      #expect(end.status == .exited(7))
      #expect(
        end.error.hasPrefix(
          "kist: kistd did not start: there is no session bus, so there is no keyring\n"),
        "\(end.error)")
      #expect(end.error.contains("hint: log in to a desktop session; credentials are kept in"))
      #expect(!FileManager.default.fileExists(atPath: home.socket))
    }
  }

  @Test func `starts another one if the first cannot reach the session bus, as after a new login`()
    async throws
  {
    try await withAutostart { home in
      var home = home
      home.busAddress = "unix:path=\(home.path)/former"
      let pin = home.path + "/.local/state/kist/storage"
      let makePin = "umask 77; mkdir -p ~/.local/state/kist; echo kist-storage-1 libsecret > \(pin)"
      let end = try await command("sh", ["-c", "\(makePin); kist list"], in: home)
      #expect(end.status == .exited(7))
      #expect(
        end.error.hasPrefix("kist: nothing answers at the address of the session bus\n"),
        "\(end.error)")
      try await untilEnded(try #require(home.daemon))
      home.busAddress = nil
      let next = try await command("kist", ["list"], in: home)
      #expect(next.error.contains("there is no session bus"), "\(next.error)")
    }
  }

  @Test func `starts with an empty store after the former store and its record were moved away`()
    async throws
  {
    try await withAutostart { home in
      let saved = try await command("kist", ["save", "former"], in: home, input: "pw")
      try #require(saved.status == .exited(0), "\(saved.error)")
      let first = try #require(home.daemon)
      kill(first, SIGTERM)
      try await untilEnded(first)
      let move = "mkdir ~/former-kist && mv ~/.local/share/kist/credentials.db* ~/former-kist"
      let refused = try await command("sh", ["-c", "\(move) && kist list"], in: home)
      #expect(refused.status == .exited(7))
      #expect(refused.error.contains("the encrypted file with your credentials is missing\n"))
      #expect(
        refused.error.contains("`man kist-troubleshooting` (troubleshooting.md) shows how to start")
      )
      let line =
        "mv ~/.local/state/kist/storage ~/former-kist && printf pw | kist save s && kist list"
      let end = try await command("sh", ["-c", line], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(end.output.hasPrefix("s\t") && !end.output.contains("former"), "\(end.output)")
    }
  }

  @Test func `starts another one after the socket of the first was removed, as at a logout`()
    async throws
  {
    try await withAutostart { home in
      let saved = try await command("kist", ["save", "s"], in: home, input: "pw")
      try #require(saved.status == .exited(0), "\(saved.error)")
      let first = try #require(home.daemon)
      try FileManager.default.removeItem(atPath: home.runtime + "/kist")
      try await untilEnded(first)
      let loaded = try await command("kist", ["load", "s"], in: home)
      #expect(loaded.output == "pw", "\(loaded.error)")
      #expect(home.daemon != first)
    }
  }

  @Test func `kistd --detach has served when it returns, and no longer prints`() async throws {
    try await withAutostart { home in
      let line = "x=$(kistd --detach 2>&1) && echo $? && kist status > status"
      let end = try await command("sh", ["-c", "cd ~ && \(line)"], in: home)
      #expect(end.output == "0\n", "\(end.error)")
      #expect(try !String(contentsOfFile: home.path + "/status", encoding: .utf8).isEmpty)
    }
  }

  @Test func `kistd --detach ends with the reason and its status if it cannot serve`() async throws
  {
    try await withAutostart { home in
      let line = "kistd --detach && kistd --detach"
      let end = try await command("sh", ["-c", line], in: home)
      #expect(end.status == .exited(7))
      #expect(end.error.contains("kistd is already running, pid"), "\(end.error)")
      let pid = try #require(home.daemon)
      #expect(end.error.contains("or stop it: `kill \(pid)`"), "\(end.error)")
    }
  }
}

/// Runs a test in a home where kist starts kistd, and stops that kistd at the end.
func withAutostart(_ body: (Home) async throws -> Void) async throws {
  try await withHome { home in
    var home = home
    home.startsKistd = true
    do {
      try await body(home)
      try await home.stopDaemon()
    } catch {
      try await home.stopDaemon()
      throw error
    }
  }
}

extension Home {
  /// The pid of the kistd at the usual socket.
  var daemon: pid_t? {
    let text = try? String(contentsOfFile: socket + ".lock", encoding: .utf8)
    return text.flatMap { pid_t($0.prefix { $0.isNumber }) }
  }

  fileprivate func stopDaemon() async throws {
    guard let daemon, FileManager.default.fileExists(atPath: socket) else { return }
    kill(daemon, SIGTERM)
    try await untilEnded(daemon)
  }

  fileprivate func destination(of link: String) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: link)
  }
}
