import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kist setup git` {
  @Test(arguments: [
    ("", 0, "kist\n"), ("kist", 0, "kist\n"), ("manager", 3, "manager\n"),
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
      #expect(again.error.hasSuffix("kist: git is already set to ask kist\n"))
    }
  }

  @Test(arguments: [
    (["store"], "kist\n"), (["cache --timeout=60", "store"], "kist\n"),
    (["store", "kist"], "kist\n"),
    (["store --file=p", "manager", "kist"], "manager\nkist\n"),
  ])
  func `takes git's store out with --take-out, and leaves its file`(
    helpers: [String], after: String
  ) async throws {
    try await withHome { home in
      let git = ["-C", home.path, "git", "config", "--global"]
      for helper in helpers {
        _ = try await command("env", git + ["--add", "credential.helper", helper], in: home)
      }
      let file = home.path + "/.git-credentials"
      try "https://a:p@git.example\n".write(toFile: file, atomically: false, encoding: .utf8)
      let setup = ["-C", home.path, "kist", "setup", "git", "--apply"]
      let refused = try await command("env", setup, in: home)
      #expect(refused.status == .exited(3))
      #expect(refused.error.contains("in plain text"))
      let all = git + ["--get-all", "credential.helper"]
      let unchanged = helpers.joined(separator: "\n") + "\n"
      #expect(try await command("env", all, in: home).output == unchanged)
      let end = try await command("env", setup + ["--take-out"], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(try await command("env", all, in: home).output == after)
      #expect(FileManager.default.contents(atPath: file)?.count == 24)
    }
  }

  @Test func `takes git's store out of both of the user's files`() async throws {
    try await withHome { home in
      let folder = home.path + "/.config/git"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      let helper = "[credential]\n\thelper = store\n"
      for file in [folder + "/config", home.path + "/.gitconfig"] {
        try helper.write(toFile: file, atomically: false, encoding: .utf8)
      }
      let setup = ["-C", home.path, "kist", "setup", "git", "--apply", "--take-out"]
      #expect(try await command("env", setup, in: home).status == .exited(0))
      let all = ["-C", home.path, "git", "config", "--get-all", "credential.helper"]
      #expect(try await command("env", all, in: home).output == "kist\n")
      let end = try await command("env", setup, in: home)
      #expect(end.error.contains("git is already set to ask kist"))
    }
  }

  @Test(arguments: ["--global", "--local"])
  func `takes a git's store for one URL out, and names its file in the hint`(place: String)
    async throws
  {
    try await withHome { home in
      let (folder, file) = (home.path + "/repository", home.path + "/passwords")
      _ = try await command("git", ["init", "--quiet", folder], in: home)
      let git = ["-C", folder, "git", "config"]
      let key = "credential.https://git.example.helper"
      _ = try await command("env", git + [place, key, "store --file=\(file)"], in: home)
      let setup = ["-C", folder, "kist", "setup", "git"]
      let shown = try await command("env", setup, in: home)
      #expect(
        shown.error.contains("`store` writes them to \(file) in plain text"), "\(shown.error)")
      #expect(shown.error.contains("hint: import them: `kist import git-credentials \(file)`; "))
      #expect(try await command("env", setup + ["--apply"], in: home).status == .exited(3))
      let end = try await command("env", setup + ["--apply", "--take-out"], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      let left = try await command(
        "env", git + ["--get-urlmatch", "credential.helper", "https://git.example"], in: home)
      #expect(left.output == "kist\n")
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
