import Foundation
import KistClient
import Subprocess
import Testing

/// The programs that encrypt, with scripts that make a key and decrypt.
private enum Program: CaseIterable {
  case age, ageFile, gpg

  var key: String {
    switch self {
    case .age, .ageFile:
      "age-keygen -o key 2>/dev/null && age-keygen -y key > recipients && cat recipients"
    case .gpg:
      """
      gpg --batch --quiet --passphrase '' --quick-generate-key alice@example.com default default
      """
    }
  }

  func recipient(_ output: String) -> String {
    switch self {
    case .age: output.trimmingCharacters(in: .newlines)
    case .ageFile: "recipients"
    case .gpg: "gpg:alice@example.com"
    }
  }

  var decrypt: String {
    self == .gpg ? "gpg --batch --quiet --decrypt" : "age --decrypt --identity key"
  }
}

@Suite(.serialized, .timeLimit(.minutes(10))) struct `An encrypted export` {
  @Test func `that its reader did not read to the end has this reason, and an empty one a note`()
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(credential)
        let recipient = Program.age.recipient(try await shell(Program.age.key, in: home))
        let script = """
          cd; mkfifo pipe; (exec <pipe; :) & reader=$!
          exec 3>pipe; wait $reader
          kist export --encrypt \(recipient) >&3; echo $?
          for file in - ~/export; do
            kist export --encrypt \(recipient) --service absent $file >/dev/null; echo $?
          done
          """
        let end = try await command("bash", ["-c", script], in: home)
        #expect(end.output == "7\n2\n2\n", "\(end.error)")
        #expect(end.error.contains("the program that reads the output ended"), "\(end.error)")
        let notes = end.error.split(
          separator: "kist: no credential matches, so nothing was exported")
        #expect(notes.count == 3, "\(end.error)")
      }
    }
  }

  @Test(arguments: ["exit 0", "head -c 9; exit 0"])
  func `fails if its program did not read or write it, and leaves the former file`(
    program: String
  ) async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let large = Secret(copying: [UInt8](repeating: 65, count: 300_000))
        try await daemon.connect().save(NewCredential(key: credential.key, secret: large))
        let script = """
          cd; mkdir bin; printf '#!/bin/sh\n\(program)\n' > bin/age; chmod 755 bin/age
          echo former > file
          PATH=$HOME/bin:$PATH kist export --encrypt age1x --replace file >/dev/null; echo $?
          cat file
          """
        let end = try await command("bash", ["-c", script], in: home)
        #expect(end.output == "7\nformer\n", "\(end.error)")
        #expect(end.error.contains("age did not encrypt the export, although"), "\(end.error)")
      }
    }
  }

  @Test(arguments: Program.allCases)
  fileprivate func `is imported unchanged, and its secrets were only in a pipe`(
    program: Program
  ) async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(credential)
        let recipient = program.recipient(try await shell(program.key, in: home))
        // The addresses of pipes and files show where each write goes.
        let trace = """
          strace -f -qq -yy -s 4096 -o trace \
            -e trace=execve,openat,memfd_create,write,writev,pwrite64,pwritev,sendfile,splice
          """
        try await shell("\(trace) kist export --encrypt '\(recipient)' out", in: home)
        let calls = try String(contentsOfFile: home.path + "/trace", encoding: .utf8)
          .split(separator: "\n")
        let shown = calls.filter { $0.contains("hunter2") }
        #expect(shown.contains { $0.contains("service") }, "the trace shows the write of kist")
        for call in shown {
          #expect(call.contains(#/ write\(\d+<pipe:\[\d+\]>, /#), "\(call)")
        }
        let isUnencrypted =
          try Data(contentsOf: URL(filePath: home.path + "/out"))
          .range(of: Data("hunter2".utf8)) != nil
        #expect(!isUnencrypted)
        let attributes = try FileManager.default.attributesOfItem(atPath: home.path + "/out")
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        let direct = try await command("kist", ["import", "kist", home.path + "/out"], in: home)
        #expect(direct.status == .exited(64))
        #expect(direct.error.contains("pipe in the text: `\(program.decrypt.prefix(3))"))

        try await daemon.connect().delete(credential.key)
        try await shell("\(program.decrypt) out | kist import kist - --yes", in: home)
        let loaded = try await daemon.connect().load(credential.key)
        #expect(loaded.secret == credential.secret)
        #expect(loaded.summary.label == credential.label)
        let piped = try await shell(
          "kist export --encrypt '\(recipient)' | \(program.decrypt)", in: home)
        #expect(piped.contains("hunter2"))
        _ = try await command("gpgconf", ["--kill", "all"], in: home)
      }
    }
  }

  @Test func `that fails writes no file, and an output that age refuses`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        // More than a portion of credentials, of which kist holds one while nobody reads.
        for number in 0..<80 {
          try await daemon.connect().save(
            NewCredential(
              key: CredentialKey(service: "s\(number)"),
              secret: Secret(copying: [UInt8](repeating: 0x78, count: 16 << 10))))
        }
        let recipient = Program.age.recipient(try await shell(Program.age.key, in: home))
        let script = """
          { kist export --encrypt \(recipient); echo $? > status; } |
            { head -c 1 > part; kill -KILL \(daemon.processIdentifier); cat >> part; }
          cat status
          age --decrypt --identity key part > /dev/null 2>&1 || echo refused
          kist export --encrypt \(recipient) out || ls out
          """
        let end = try await command("sh", ["-c", "cd; \(script)"], in: home)
        #expect(end.output == "7\nrefused\n", "\(end.error)")
        #expect(end.error.contains("'out': No such file"), "\(end.error)")
      }
    }
  }

  @Test(arguments: [
    ("age1nonsense", "kist: age: error: malformed recipient", "age did not encrypt the export"),
    ("gpg:nobody", "kist: gpg: nobody: skipped: ", "gpg did not encrypt the export"),
  ])
  func `shows the program's reason, and writes nothing`(
    recipient: String, reason: String, message: String
  ) async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(credential)
        let script = "cd && exec kist export --encrypt \"$0\" out"
        let end = try await command("sh", ["-c", script, recipient], in: home)
        #expect(end.status == .exited(7))
        #expect(end.error.contains(reason), "\(end.error)")
        #expect(end.error.contains("kist: \(message)"), "\(end.error)")
        #expect(!FileManager.default.fileExists(atPath: home.path + "/out"))
      }
    }
  }

  /// age and gpg escape control characters themselves; a plugin of age may not.
  @Test func `shows the program's messages without control characters`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let script = #"""
          mkdir ~/bin
          cat > ~/bin/age << 'END'
          #!/bin/sh
          printf '\033[2J\nkist: done\n' >&2
          exit 3
          END
          chmod 700 ~/bin/age
          PATH=$HOME/bin:$PATH; exec kist export --encrypt age1x ~/out
          """#
        let end = try await command("sh", ["-ec", script], in: home)
        #expect(
          end.error == #"""
            kist: age: \u{1b}[2J
            kist: age: kist: done
            kist: age did not encrypt the export: its status was 3
            hint: the export was not written; the lines above give the reason

            """#)
      }
    }
  }

  @Test func `names the program that is missing`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let script = "PATH=\(programs); exec kist export --encrypt age1x \"$HOME/out\""
        let end = try await command("sh", ["-c", script], in: home)
        #expect(end.status == .exited(7))
        #expect(end.error == "kist: there is no age on PATH\nhint: install age\n")
      }
    }
  }
}

private let credential = NewCredential(
  key: CredentialKey(service: "git.example", account: "alice"), secret: Secret(utf8: "hunter2"),
  label: "A label")

/// Runs a script that must succeed in the directory of a home; returns its output.
@discardableResult
private func shell(_ script: String, in home: Home) async throws -> String {
  let end = try await command("sh", ["-ec", "cd; \(script)"], in: home)
  try #require(end.status == .exited(0), "\(script): \(end.error)")
  return end.output
}
