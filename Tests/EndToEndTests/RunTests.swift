import Foundation
import Glibc
import KistClient
import KistTesting
import Subprocess
import Testing

/// The runtime directory of these tests: files of secrets must be in memory.
private let memory = "/dev/shm"

@Suite(.timeLimit(.minutes(10))) struct `A command with secrets` {
  /// Runs `kist run` beside a kistd that keeps `s/a` = hunter2, `s/nul` and `s/pem`.
  ///
  /// - Parameter starter: what starts it, with words of its own.
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

  @Test func `has them in its environment, to the byte, and kist has not`() async throws {
    let end = try await kistRun(
      ["--env", "A=kist://s/a", "--env", "B=kist://s/pem"],
      ["sh", "-c", #"printf '%s|%s|%s' "$A" "$B" "$1""#, "sh", "word"])
    #expect(end.output == "hunter2|x\ny\n|word", "\(end.error)")
    #expect(end.status == .exited(0))
  }

  @Test func `is kist's own process, so that signals and its status are its own`() async throws {
    let end = try await kistRun(
      ["--env", "A=kist://s/a"], ["sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline; kill -TERM $$"])
    #expect(end.output.hasPrefix("sh -c"))
    #expect(end.status == .signaled(SIGTERM))
    #expect(try await kistRun([], ["sh", "-c", "exit 42"]).status == .exited(42))
  }

  @Test func `reads variables from a file, options first`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID()).env")
    defer { try? FileManager.default.removeItem(at: file) }
    try "# why\nA=kist://nobody\nB=plain text\nC=kist://s/a\n"
      .write(to: file, atomically: false, encoding: .utf8)
    let end = try await kistRun(
      ["--env-file", file.path, "--env", "A=kist://s/a"], ["sh", "-c", #"echo "$A,$B,$C""#])
    #expect(end.output == "hunter2,plain text,hunter2\n", "\(end.error)")
  }

  @Test(arguments: [[], ["--allow-env", "LD_PRELOAD"], ["--allow-env", "BASH_ENV"]])
  func `is not started with a variable of a file that runs code, unless that is allowed`(
    options: [String]
  ) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID()).env")
    let code = file.path + ".sh"
    defer { for path in [file.path, code] { try? FileManager.default.removeItem(atPath: path) } }
    try "echo run by $A".write(toFile: code, atomically: false, encoding: .utf8)
    try "A=kist://s/a\n# why\nBASH_ENV=\(code)\n"
      .write(to: file, atomically: false, encoding: .utf8)
    let end = try await kistRun(
      options + ["--env-file", file.path], ["bash", "-c", "echo started"])
    if options.last == "BASH_ENV" {
      #expect(end.output == "run by hunter2\nstarted\n", "\(end.error)")
    } else {
      #expect(end.status == .exited(125))
      #expect(end.output.isEmpty)
      #expect(
        end.error == """
          kist: --env-file, line 3: BASH_ENV may make a program run other code, and nothing was started
          hint: remove the line; or, where you know the value, allow it with `--allow-env BASH_ENV`

          """)
    }
  }

  @Test func `is not started where a file refers to another service than those that are named`()
    async throws
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

  @Test func `has files for it alone, in memory, until it ends`() async throws {
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

  @Test func `has the file where a variable and a file are of one name`() async throws {
    let end = try await kistRun(
      ["--env", "A=kist://nobody", "--file", "A=kist://s/pem"], ["sh", "-c", #"cat "$A"; env"#])
    #expect(end.output.hasPrefix("x\ny\n"), "\(end.error)")
    #expect(end.output.matches(of: /(?m)^A=/).count == 1)
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
  func `gets the signals where kist stays, and its files go`(signal: CInt) async throws {
    let script =
      #"trap 'echo caught; exit 7' \#(signal); echo "$KEY"; kill -\#(signal) $PPID; "#
      + "while :; do sleep 0.01; done"
    let end = try await kistRun(["--file", "KEY=kist://s/a"], ["sh", "-c", script])
    let lines = end.output.split(separator: "\n")
    #expect(lines.last == "caught", "\(end.error)")
    #expect(end.status == .exited(7))
    #expect(!FileManager.default.fileExists(atPath: String(try #require(lines.first))))
  }

  @Test func `that a signal ends is 128 and the signal where kist stays`() async throws {
    let end = try await kistRun(["--file", "K=kist://s/a"], ["sh", "-c", "kill -KILL $$"])
    #expect(end.status == .exited(128 + 9))
  }

  @Test func `leaves nothing beside its files, and nothing behind a link is removed`() async throws
  {
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
  func `is not started where its files would be among others' files`(mode: Int) async throws {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"], ["echo", "started"],
      startedBy: [
        "sh", "-c", #"chmod \#(String(mode, radix: 8)) "$XDG_RUNTIME_DIR"; exec "$@""#, "sh",
      ])
    #expect(end.status == .exited(125))
    #expect(end.output.isEmpty)
    #expect(end.error.contains("not for this user alone"))
  }

  @Test func `has its own status where SIGCHLD was ignored`() async throws {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"], ["sh", "-c", "exit 3"],
      startedBy: ["env", "--ignore-signal=CHLD"])
    #expect(end.status == .exited(3), "\(end.error)")
  }

  @Test(arguments: ["INT", "QUIT", "TERM", "USR1"])
  func `goes on at a signal that was ignored, and so does kist`(signal: String) async throws {
    let end = try await kistRun(
      ["--file", "K=kist://s/a"],
      ["sh", "-c", "kill -\(signal) $PPID; kill -\(signal) $$; echo on"],
      startedBy: ["env", "--ignore-signal=\(signal)"])
    #expect(end.output == "on\n", "\(end.error)")
    #expect(end.status == .exited(0))
  }

  @Test(.enabled(if: getuid() == 0, "only root may read the memory"))
  func `runs while kist has wiped all that it gave`() async throws {
    // The secret backwards, for kist knows the words of the command.
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

  @Test func `cannot look into kist, and so no core file can have its memory`() async throws {
    // Without capabilities, what counts is whether the process is dumpable: ptrace(2).
    let starter = getuid() == 0 ? ["setpriv", "--bounding-set=-all"] : []
    let end = try await kistRun(
      ["--file", "K=kist://s/a"],
      ["sh", "-c", "cat /proc/$$/maps >/dev/null && echo own; cat /proc/$PPID/maps"],
      startedBy: starter)
    #expect(end.output == "own\n", "\(end.error)")
    #expect(end.error.contains("Permission denied"))
  }

  @Test(arguments: [["--env", "A=kist://s/a"], ["--file", "A=kist://s/a"]])
  func `that is not there is 127, and one that cannot be run 126`(options: [String]) async throws {
    let missing = try await kistRun(options, ["kist-no-such-command"])
    #expect(missing.status == .exited(127))
    #expect(
      missing.error.hasPrefix("kist: the command cannot be started: No such file or directory\n"))
    let directory = try await kistRun(options, ["/etc"])
    #expect(directory.status == .exited(126))
  }

  @Test func `is not started with a NUL in a variable`() async throws {
    let end = try await kistRun(["--env", "A=kist://s/nul"], ["echo", "started"])
    #expect(end.status == .exited(125))
    #expect(end.output.isEmpty)
    #expect(end.error.contains("--file"))
  }

  @Test func `is not started where its files would be on a disk`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(
          NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x")))
        for directory in ["/proc", "relative", ""] {
          let end = try await command(
            "env",
            [
              "KIST_SOCKET=\(home.socket)", "XDG_RUNTIME_DIR=\(directory)", "kist", "run",
              "--file", "A=kist://s", "--", "echo", "started",
            ], in: home)
          #expect(end.status == .exited(125))
          #expect(end.output.isEmpty)
        }
      }
    }
  }

  @Test func `is not started without kistd, or with a locked one`() async throws {
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
