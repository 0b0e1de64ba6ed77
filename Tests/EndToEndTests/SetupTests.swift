import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kist setup git` {
  @Test(arguments: [
    ("", 0, "kist\n"), ("kist", 0, "kist\n"), ("store", 3, "store\n"),
    ("!f() { echo; }; f", 3, "!f() { echo; }; f\n"),
  ])
  func `does not replace another credential helper`(before: String, status: Int32, after: String)
    async throws
  {
    try await withHome { home in
      // git reads the directory that it runs in.
      let git = ["-C", home.path, "git", "config", "--global", "credential.helper"]
      if !before.isEmpty { _ = try await command("env", git + [before], in: home) }
      let shown = try await command("env", ["-C", home.path, "kist", "setup", "git"], in: home)
      #expect(shown.status == .exited(0))
      #expect(shown.error.contains("git already has another helper") == (status == 3))
      let words = ["-C", home.path, "kist", "setup", "git", "--apply"]
      let end = try await command("env", words, in: home)
      #expect(end.status == .exited(status), "\(end.error)")
      #expect(try await command("env", git, in: home).output == after)
      // The command in the hint works.
      guard status == 3 else { return }
      let add = [
        "-C", home.path, "git", "config", "--global", "--add", "credential.helper", "kist",
      ]
      _ = try await command("env", add, in: home)
      let again = try await command("env", words, in: home)
      #expect(again.status == .exited(0))
      #expect(again.error.hasSuffix("kist: git is set to ask kist already\n"))
    }
  }

  @Test func `does not run a git from the working directory`() async throws {
    try await withHome { home in
      let git = home.path + "/git"
      try "#!/bin/sh\necho other".write(toFile: git, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: git)
      let script = "cd ~; kist=$(command -v kist); PATH=.::bin exec \"$kist\" setup git --apply"
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.status == .exited(7))
      #expect(!end.output.contains("other"))
    }
  }
}
