import Foundation
import Glibc
import KistClient
import KistTesting
import Subprocess
import Testing

/// The runtime directory of these tests: files with secrets must be in memory.
private let memory = "/dev/shm"

/// Prints the secret in the file K, the modes of the file and of its directory, and its file system.
private let shownFile =
  #"echo "$(cat "$K") $(stat -c %a "$K" "${K%/*}" | xargs) $(stat -f -c %T "$K")""#

@Suite(.timeLimit(.minutes(10))) struct `A command run by kist run` {
  /// Runs `kist run` with a kistd that stores `s/a` = hunter2, `s/nul` and `s/pem`.
  ///
  /// - Parameter starter: the command that starts it, with its arguments.
  private func kistRun(
    _ options: [String], _ words: [String], startedBy starter: [String] = []
  ) async throws -> CommandResult {
    let memory = "\(memory)/kist-\(UUID())"
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: memory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? manager.removeItem(atPath: memory) }
    return try await withHome { home in
      var result: CommandResult?
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        for (account, secret) in [("a", "hunter2"), ("nul", "a\0b"), ("pem", "x\ny\n")] {
          try await storage.save(
            NewCredential(
              key: CredentialKey(service: "s", account: account), secret: Secret(utf8: secret)))
        }
        let assignments = ["XDG_RUNTIME_DIR=\(memory)", "KIST_SOCKET=\(home.socket)"]
        result = try await command(
          "env", assignments + starter + ["kist", "run"] + options + ["--"] + words, in: home)
      }
      #expect(try manager.contentsOfDirectory(atPath: memory).isEmpty, "files are left")
      return try #require(result)
    }
  }

  @Test func `gets the exact bytes of its secrets in its environment`() async throws {
    let end = try await kistRun(
      ["--env", "A=kist://s/a", "--env", "B=kist://s/pem"],
      ["sh", "-c", #"printf '%s|%s|%s' "$A" "$B" "$1""#, "sh", "word"])
    #expect(end.output == "hunter2|x\ny\n|word", "\(end.error)")
    #expect(end.status == .exited(0))
  }

  @Test func `replaces the kist process and ends with its own status or signal`() async throws {
    let end = try await kistRun(
      ["--env", "A=kist://s/a"], ["sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline; kill -TERM $$"])
    #expect(end.output.hasPrefix("sh -c"))
    #expect(end.status == .signaled(SIGTERM))
    #expect(try await kistRun([], ["sh", "-c", "exit 42"]).status == .exited(42))
  }

  @Test func `gets variables from --env-file, and --env takes precedence`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID()).env")
    defer { try? FileManager.default.removeItem(at: file) }
    try "# why\nA=kist://nobody\nB=plain text\nC=kist://s/a\n"
      .write(to: file, atomically: false, encoding: .utf8)
    let end = try await kistRun(
      ["--env-file", file.path, "--env", "A=kist://s/a"], ["sh", "-c", #"echo "$A,$B,$C""#])
    #expect(end.output == "hunter2,plain text,hunter2\n", "\(end.error)")
  }

  @Test(arguments: [[], ["--allow-env", "LD_PRELOAD"], ["--allow-env", "BASH_ENV"]])
  func `is not started with a code-running variable from a file without --allow-env`(
    options: [String]
  ) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID()).env")
    let code = file.path + ".sh"
    defer { for path in [file.path, code] { try? FileManager.default.removeItem(atPath: path) } }
    try "echo run by $A".write(toFile: code, atomically: false, encoding: .utf8)
    let isAllowed = options.last == "BASH_ENV"
    // Loading a missing credential fails, so a refusal shows that kist checks the names first.
    let account = isAllowed ? "a" : "missing"
    try "A=kist://s/\(account)\n# why\nBASH_ENV=\(code)\n"
      .write(to: file, atomically: false, encoding: .utf8)
    let end = try await kistRun(
      options + ["--env-file", file.path], ["bash", "-c", "echo started"])
    if isAllowed {
      #expect(end.output == "run by hunter2\nstarted\n", "\(end.error)")
    } else {
      #expect(end.status == .exited(125))
      #expect(end.output.isEmpty)
      #expect(
        end.error == """
          kist: --env-file, line 3: BASH_ENV can make a program run other code; nothing was started
          hint: remove the line; or, if you trust the value, allow it with `--allow-env BASH_ENV`

          """)
    }
  }

  @Test func `is not started if a file refers to a service that --only does not name`() async throws
  {
    let file = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID()).env")
    defer { try? FileManager.default.removeItem(at: file) }
    try "A=kist://s/a\nB=kist://t/b\n".write(to: file, atomically: false, encoding: .utf8)
    let words = ["sh", "-c", "echo started"]
    let refused = try await kistRun(["--env-file", file.path, "--only", "s"], words)
    #expect(refused.status == .exited(125))
    #expect(refused.output.isEmpty)
    #expect(refused.error.hasPrefix("kist: --env-file, line 2: the reference names a service"))
    let missing = try await kistRun(["--env-file", file.path, "--only", "s", "--only", "t"], words)
    #expect(missing.error.hasPrefix("kist: --env-file, line 2: there is no such credential"))
  }

  @Test func `has private files in memory until it ends`() async throws {
    let end = try await kistRun(
      ["--file", "KEY=kist://s/nul", "--env", "A=kist://s/a"],
      [
        "sh", "-c",
        #"stat -c '%a %s' "$KEY"; stat -c %a "${KEY%/*}"; stat -f -c %T "$KEY"; echo "$KEY $A"; exit 3"#,
      ])
    let lines = end.output.split(separator: "\n")
    #expect(lines.prefix(3) == ["600 3", "700", "tmpfs"], "\(end.error)")
    let path = try #require(lines.last?.split(separator: " ").first)
    #expect(path.hasPrefix("\(memory)/kist-") && path.contains("/kist-run."))
    #expect(lines.last?.hasSuffix(" hunter2") == true)
    #expect(!FileManager.default.fileExists(atPath: String(path)))
    let folder = (String(path) as NSString).deletingLastPathComponent
    #expect(!FileManager.default.fileExists(atPath: folder))
    #expect(end.status == .exited(3))
  }

  @Test func `gets the file if a variable and a file have the same name`() async throws {
    let end = try await kistRun(
      ["--env", "A=kist://nobody", "--file", "A=kist://s/pem"], ["sh", "-c", #"cat "$A"; env"#])
    #expect(end.output.hasPrefix("x\ny\n"), "\(end.error)")
    #expect(end.output.matches(of: /(?m)^A=/).count == 1)
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
  func `gets the signals sent to kist, and its files are removed`(signal: CInt) async throws {
    let script =
      #"trap 'echo caught; exit 7' \#(signal); echo "$KEY"; kill -\#(signal) $PPID; "#
      + "while :; do sleep 0.01; done"
    let end = try await kistRun(["--file", "KEY=kist://s/a"], ["sh", "-c", script])
    let lines = end.output.split(separator: "\n")
    #expect(lines.last == "caught", "\(end.error)")
    #expect(end.status == .exited(7))
    #expect(!FileManager.default.fileExists(atPath: String(try #require(lines.first))))
  }

  @Test func `makes kist exit with 128 plus the signal number if a signal ends it`() async throws {
    let end = try await kistRun(["--file", "K=kist://s/a"], ["sh", "-c", "kill -KILL $$"])
    #expect(end.status == .exited(128 + 9))
  }

  @Test func `leaves no files behind, and kist does not follow its symbolic links`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data("x".utf8).write(to: folder.appending(path: "kept"))
    let script = #"cd "${K%/*}"; mkdir -p a/b; cp "$K" a/b/copy; ln -s \#(folder.path) a/link"#
    let end = try await kistRun(["--file", "K=kist://s/a"], ["sh", "-c", script])
    #expect(end.status == .exited(0), "\(end.error)")
    #expect(FileManager.default.fileExists(atPath: folder.appending(path: "kept").path))
  }

  @Test(arguments: [0o777, 0o750, 0o1777])
  func `gets no files in a directory that other users could access`(mode: Int) async throws {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"],
      ["sh", "-c", #"\#(shownFile); case $K in "$XDG_RUNTIME_DIR"*) echo there;; esac"#],
      startedBy: [
        "sh", "-c", #"chmod \#(String(mode, radix: 8)) "$XDG_RUNTIME_DIR"; exec "$@""#, "sh",
      ])
    #expect(end.output == "hunter2 600 700 tmpfs\n", "\(end.error)")
    #expect(end.status == .exited(0))
  }

  @Test func `passes on its exit status even if SIGCHLD is ignored`() async throws {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"], ["sh", "-c", "exit 3"],
      startedBy: ["env", "--ignore-signal=CHLD"])
    #expect(end.status == .exited(3), "\(end.error)")
  }

  @Test(arguments: ["INT", "QUIT", "TERM", "USR1"])
  func `continues after a signal that was ignored at the start, as does kist`(signal: String)
    async throws
  {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"],
      ["sh", "-c", "kill -\(signal) $PPID; kill -\(signal) $$; echo on"],
      startedBy: ["env", "--ignore-signal=\(signal)"])
    #expect(end.output == "on\n", "\(end.error)")
    #expect(end.status == .exited(0))
  }

  @Test(.enabled(if: getuid() == 0, "only root may read the memory"))
  func `runs after kist has wiped its own copies of the secrets`() async throws {
    // The secret is reversed because kist has the arguments of the command in memory.
    let script = """
      import os
      found = 0
      for line in open(f"/proc/{os.getppid()}/maps"):
          first, last = (int(end, 16) for end in line.split()[0].split("-"))
          if last - first > 1 << 30:  # The shadow of a sanitizer.
              continue
          try:
              memory = os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)
              found += b"2retnuh"[::-1] in os.pread(memory, last - first, first)
          except (OSError, OverflowError):
              pass
          finally:
              os.close(memory)
      print(found, os.environ["A"] == open(os.environ["K"]).read() == "2retnuh"[::-1])
      """
    let end = try await kistRun(
      ["--file", "K=kist://s/a", "--env", "A=kist://s/a"], ["python3", "-c", script])
    #expect(end.output == "0 True\n", "\(end.error)")
  }

  @Test func `cannot read the memory of kist`() async throws {
    // Without capabilities, access depends on whether the process is dumpable (ptrace(2)). A
    // process that is not dumpable leaves no core file, either.
    let starter = getuid() == 0 ? ["setpriv", "--bounding-set=-all"] : []
    let end = try await kistRun(
      ["--file", "K=kist://s/a"],
      ["sh", "-c", "cat /proc/$$/maps >/dev/null && echo own; cat /proc/$PPID/maps"],
      startedBy: starter)
    #expect(end.output == "own\n", "\(end.error)")
    #expect(end.error.contains("Permission denied"))
  }

  @Test(arguments: [["--env", "A=kist://s/a"], ["--file", "A=kist://s/a"]])
  func `gives status 127 if it is missing and 126 if it cannot be executed`(options: [String])
    async throws
  {
    let missing = try await kistRun(options, ["kist-no-such-command"])
    #expect(missing.status == .exited(127))
    #expect(
      missing.error.hasPrefix("kist: the command cannot be started: No such file or directory\n"))
    let directory = try await kistRun(options, ["/etc"])
    #expect(directory.status == .exited(126))
  }

  @Test func `is not started if a secret for a variable contains a NUL`() async throws {
    let end = try await kistRun(["--env", "A=kist://s/nul"], ["echo", "started"])
    #expect(end.status == .exited(125))
    #expect(end.output.isEmpty)
    #expect(end.error.contains("--file"))
  }

  @Test(arguments: ["XDG_RUNTIME_DIR=/proc", "XDG_RUNTIME_DIR=relative", "XDG_RUNTIME_DIR=", "-u"])
  func `gets its files in memory without a usable XDG_RUNTIME_DIR`(setting: String) async throws {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"], ["sh", "-c", #"echo "$K"; \#(shownFile)"#],
      startedBy: ["env", setting] + (setting == "-u" ? ["XDG_RUNTIME_DIR"] : []))
    let lines = end.output.split(separator: "\n")
    #expect(lines.last == "hunter2 600 700 tmpfs", "\(end.error)")
    #expect(end.status == .exited(0))
    // kist removes the directory, also in a directory that is not the user's own.
    let file = URL(filePath: String(try #require(lines.first)))
    #expect(!FileManager.default.fileExists(atPath: file.deletingLastPathComponent().path))
  }

  @Test func `is not started if kistd is missing or locked`() async throws {
    try await withHome { home in
      let words = ["run", "--env", "A=kist://s/a", "--", "echo", "started"]
      let alone = try await command("kist", words, in: home)
      #expect(alone.status == .exited(125))
      #expect(alone.output.isEmpty)
      try await withDaemon(in: home) { _ in
        _ = try await command("kist", ["lock"], in: home)
        let locked = try await command("kist", words, in: home)
        #expect(locked.status == .exited(125))
        #expect(locked.output.isEmpty)
        #expect(locked.error.contains("locked"))
      }
    }
  }
}
