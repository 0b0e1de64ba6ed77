import Foundation
import KistClient
import KistInterop
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `A tool finds its helper` {
  @Test(arguments: [
    ("git-credential-kist", ["get"], Tool.git, ["get"]),
    ("git-credential-kist", ["--get"], .git, ["--get"]),
    ("git-credential-kist", [], .git, []),
    ("docker-credential-kist", ["--version"], .docker, ["--version"]),
    ("cargo-credential-kist", ["--cargo-plugin"], .cargo, ["--cargo-plugin"]),
    ("kist", ["--cargo-plugin"], .cargo, []),
    ("kist", ["helper", "git", "get"], .git, ["get"]),
    ("kist", ["helper", "git", "--", "get"], .git, ["get"]),
    ("kist", ["helper", "git"], .git, []),
    (
      "kist", ["helper", "keyring", "--mode", "creds", "get", "s"], .keyring,
      ["--mode", "creds", "get", "s"]
    ),
  ])
  func `by its name, or as a command`(
    program: String, arguments: [String], tool: Tool, words: [String]
  ) async throws {
    var helper: Helper?
    _ = await Kist.status(of: arguments, calledAs: program, on: Recorder().terminal()) {
      helper = $0 as? Helper
    }
    #expect(helper?.tool == tool)
    #expect(helper?.words == words)
  }

  @Test func `by the names of the links that are installed`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let makefile = try String(contentsOf: root.appending(path: "Makefile"), encoding: .utf8)
    let line = makefile.split(separator: "\n").first { $0.hasPrefix("HELPERS := ") }
    let names = line?.split(separator: " ").dropFirst(2).map(String.init)
    #expect(names == Tool.allCases.filter { $0 != .keyring }.compactMap(\.program))
  }

  @Test(arguments: Tool.allCases)
  func `as a command without options, read as the argument parser reads it`(tool: Tool) async {
    for words in [[], ["get"], ["get", ""], ["get", "a b"], ["", "\u{2013}dash"]] {
      var read: [[String]] = []
      for end in [[], ["--"]] {
        let arguments = ["helper", tool.rawValue] + words + end
        _ = await Kist.status(of: arguments, on: Recorder().terminal()) { command in
          read += ((command as? Helper)?.words).map { [$0] } ?? []
        }
      }
      #expect(read == [words, words])
    }
  }
}
