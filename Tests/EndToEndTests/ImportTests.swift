import Foundation
import KistClient
import Subprocess
import Synchronization
import Testing

/// The number of credentials to import: `KIST_IMPORTED`, or 10,000, which exceeds a page.
private let count = ProcessInfo.processInfo.environment["KIST_IMPORTED"].flatMap(Int.init) ?? 10_000

@Suite(.serialized, .timeLimit(.minutes(10))) struct `Import and export` {
  @Test func `an import saves all 10,000 credentials, and a second one changes nothing`()
    async throws
  {
    try await withHome { home in
      let file = try writeCSV(in: home)
      try await withDaemon(in: home) { daemon in
        let first = try await importCSV(file, in: home)
        #expect(first.status == .exited(0), "\(first.error)")
        let saved = try await revisions(in: daemon)
        #expect(saved.count == count)
        let second = try await importCSV(file, in: home)
        #expect(second.status == .exited(0), "\(second.error)")
        #expect(second.output.split(separator: "\n").last == summary(saved: 0, same: count))
        let unchanged = try await revisions(in: daemon)
        #expect(unchanged == saved)
      }
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
  func `an interrupted import keeps the saved credentials and completes when repeated`(
    signal: CInt
  ) async throws {
    try await withHome { home in
      let file = try writeCSV(in: home)
      try await withDaemon(in: home) { daemon in
        let end = try await run(
          .name("kist"), arguments: ["import", "chrome", .init(file), "--yes"],
          environment: home.environment, input: .none, output: .discarded,
          error: .string(limit: 1 << 16)
        ) { execution in
          // Waits until some credentials are saved, but not all.
          while try await daemon.connect().find(CredentialQuery()).next == nil {
            try await Task.sleep(for: .milliseconds(1))
          }
          try execution.send(signal: Signal(rawValue: signal))
        }
        #expect(end.terminationStatus == .signaled(signal))
        let saved = try await revisions(in: daemon)
        #expect(saved.count < count, "it was not interrupted")
        if signal != SIGKILL {
          #expect(
            end.standardError
              == "kist: interrupted: \(saved.count) of \(count) were saved\n"
              + "hint: run the import again to continue; it saves nothing twice\n")
        }
        let second = try await importCSV(file, in: home)
        #expect(second.status == .exited(0), "\(second.error)")
        let all = try await revisions(in: daemon)
        #expect(all.count == count)
        #expect(all.filter { saved[$0.key] != nil } == saved, "the saved credentials are unchanged")
        for number in [0, count / 2, count - 1] {
          let key = CredentialKey(service: "h\(number).example", account: "user\(number)")
          let secret = try await daemon.connect().load(key).secret
          #expect(secret == Secret(utf8: "secret-\(number)"))
        }
      }
    }
  }

  @Test func `an import reports its progress if kistd is killed, and completes when repeated`()
    async throws
  {
    try await withHome { home in
      let file = try writeCSV(in: home)
      try await withDaemon(in: home) { daemon in
        async let first = importCSV(file, in: home)
        while try await daemon.connect().find(CredentialQuery()).next == nil {
          try await Task.sleep(for: .milliseconds(1))
        }
        daemon.send(.kill)
        let end = try await first
        #expect(end.status == .exited(7), "\(end.error)")
        #expect(end.error.contains(" of \(count) were saved"))
      }
      try await withDaemon(in: home) { daemon in
        let second = try await importCSV(file, in: home)
        #expect(second.status == .exited(0), "\(second.error)")
        let all = try await revisions(in: daemon)
        #expect(all.count == count)
      }
    }
  }

  @Test(arguments: [
    ("netrc", ".netrc"), ("git-credentials", ".git-credentials"), ("docker", ".docker/config.json"),
    ("aws", ".aws/credentials"), ("cargo", ".cargo/credentials.toml"),
  ])
  func `an import and kist setup do not wait for a FIFO at the usual place`(
    format: String, place: String
  ) async throws {
    try await withHome { home in
      let path = home.path + "/" + place
      try FileManager.default.createDirectory(
        atPath: URL(filePath: path).deletingLastPathComponent().path,
        withIntermediateDirectories: true)
      try #require(unsafe mkfifo(path, 0o600) == 0)
      let end = try await command("kistd", ["--", "kist", "import", format], in: home)
      #expect(end.status == .exited(64), "\(end.error)")
      #expect(end.error.contains("kist: \(path) is not a regular file"), "\(end.error)")
      guard format == "docker" else { return }
      try FileManager.default.createDirectory(
        atPath: home.path + "/bin", withIntermediateDirectories: true)
      let script = """
        ln -s "$(command -v kist)" ~/bin/docker-credential-kist
        PATH=$HOME/bin:$PATH exec kist setup docker --apply
        """
      let setup = try await command("sh", ["-c", script], in: home)
      #expect(setup.status == .exited(64), "\(setup.error)")
      #expect(setup.error.contains("docker's configuration is not a regular file"))
    }
  }

  @Test func `an import restores an export byte for byte`() async throws {
    let every = Secret(copying: (0...255).map { UInt8($0) })
    let credentials = [
      NewCredential(
        key: CredentialKey(service: "every byte", account: "é\u{301}"), secret: every,
        label: "A \"label\"", attributes: ["kind": "token", "a b": "ü"],
        expiresAt: Timestamp(rfc3339: "2020-01-01T00:00:00Z")),
      NewCredential(key: CredentialKey(service: "empty"), secret: Secret(utf8: "")),
      NewCredential(
        key: CredentialKey(service: "large"),
        secret: Secret(copying: (0..<(512 << 10)).map { _ in UInt8.random(in: 0...255) })),
    ]
    try await withHome { home in
      let file = home.path + "/out.jsonl"
      try await withDaemon(in: home) { daemon in
        for credential in credentials { try await daemon.connect().save(credential) }
        let end = try await command("kist", ["export", file], in: home)
        #expect(end.status == .exited(0), "\(end.error)")
        #expect(end.output.isEmpty)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let again = try await command("kist", ["export", file], in: home)
        #expect(again.status == .exited(3))
        let replaced = try await command("kist", ["export", file, "--replace"], in: home)
        #expect(replaced.status == .exited(0), "\(replaced.error)")
        for credential in credentials { try await daemon.connect().delete(credential.key) }
        let imported = try await command("kist", ["import", "kist", file, "--yes"], in: home)
        #expect(imported.status == .exited(0), "\(imported.error)")
        for credential in credentials {
          let request = LoadRequest(key: credential.key, allowExpired: true)
          let loaded = try await daemon.connect().load(request)
          #expect(loaded.secret == credential.secret)
          #expect(loaded.summary.label == credential.label)
          #expect(loaded.summary.attributes == credential.attributes)
          #expect(loaded.summary.expiresAt == credential.expiresAt)
        }
      }
    }
  }

  @Test func `an import of an export leaves the newest account of a host the newest`() async throws
  {
    let accounts = ["zoe", "mia", "eva", "bob", "anna", "kim"]
    try await withHome { home in
      let file = home.path + "/out.jsonl"
      try await withDaemon(in: home) { daemon in
        for account in accounts {
          try await daemon.connect().save(
            NewCredential(
              key: CredentialKey(service: "host", account: account), secret: Secret(utf8: "s")))
        }
        let exported = try await command("kist", ["export", file], in: home)
        #expect(exported.status == .exited(0), "\(exported.error)")
        for account in accounts {
          try await daemon.connect().delete(CredentialKey(service: "host", account: account))
        }
        let imported = try await command("kist", ["import", "kist", file, "--yes"], in: home)
        #expect(imported.status == .exited(0), "\(imported.error)")
        let found = try await daemon.connect().find(CredentialQuery()).credentials
        let order = found.sorted {
          Int($0.revision.rawValue.split(separator: ".")[1])!
            < Int($1.revision.rawValue.split(separator: ".")[1])!
        }
        #expect(order.map(\.key.account) == accounts)
      }
    }
  }

  @Test func `an export terminated while it replaces a file leaves no second file`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(
          NewCredential(key: CredentialKey(service: "a"), secret: Secret(utf8: "hunter2")))
        let folder = home.path + "/out"
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: false)
        try "old".write(toFile: folder + "/f", atomically: false, encoding: .utf8)
        let end = try await command(
          "strace",
          ["-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat"]
            + ["-e", "inject=linkat:signal=SIGTERM", "kist", "export", folder + "/f", "--replace"],
          in: home)
        #expect(end.status == .signaled(SIGTERM), "\(end.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["f"])
        let text = try String(contentsOfFile: folder + "/f", encoding: .utf8)
        #expect(text.contains("hunter2"))
      }
    }
  }

  @Test func `an export reports a failed fsync and whether the file exists`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        for (failing, outcome) in [
          (1, "no file was changed"), (2, "the file was written, but"),
        ] {
          let end = try await command(
            "strace",
            ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync"]
              + [
                "-e", "inject=fsync:error=EIO:when=\(failing)", "kist", "export",
                home.path + "/out",
              ],
            in: home)
          #expect(end.status == .exited(7), "\(end.error)")
          #expect(end.error.contains(outcome), "\(end.error)")
          let isThere = FileManager.default.fileExists(atPath: home.path + "/out")
          #expect(isThere == (failing == 2))
        }
      }
    }
  }

  @Test func `an import warns about a readable file, and an export refuses to write one`()
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let file = home.path + "/.netrc"
        try "machine h login u password p\n".write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        for (mode, isReachable) in [(0o755, true), (0o700, false)] {
          try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home.path)
          let end = try await command("kist", ["import", "netrc", "--yes"], in: home)
          #expect(end.status == .exited(0))
          let warns = end.error.hasPrefix("kist: other users may read \(file), and may have read")
          #expect(warns == isReachable, "\(end.error)")
        }
        for (mask, status) in [("022", 6), ("077", 0)] {
          let script = "umask \(mask); rm -f \(home.path)/out; exec kist export > \(home.path)/out"
          let exported = try await command("sh", ["-c", script], in: home)
          #expect(exported.status == .exited(CInt(status)), "\(exported.error)")
        }
      }
    }
  }
}

private func writeCSV(in home: Home) throws -> String {
  let rows = (0..<count).map { "n\($0),https://h\($0).example/x,user\($0),secret-\($0)\n" }
  let file = home.path + "/export.csv"
  try ("name,url,username,password\n" + rows.joined())
    .write(toFile: file, atomically: false, encoding: .utf8)
  try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
  return file
}

private func importCSV(_ file: String, in home: Home) async throws -> CommandResult {
  try await command("kist", ["import", "chrome", file, "--yes", "--json"], in: home)
}

private func summary(saved: Int, same: Int) -> Substring {
  """
  {"saved":\(saved),"new":0,"same":\(same),"differs":0,"clash":0,"leftOut":{}}
  """
}

private func revisions(in daemon: Daemon) async throws -> [CredentialKey: Revision] {
  let found = try await daemon.connect().findAll()
  return Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.revision) })
}
