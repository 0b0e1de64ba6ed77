import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An argument or variable that is not UTF-8` {
  @Test(arguments: [
    (#"kistd --data "$(printf 'caf\351')""#, "an argument is not UTF-8"),
    (#"kistd -- "$(printf 'caf\351')""#, "an argument is not UTF-8"),
    (#"kist load "$(printf 'caf\351')""#, "an argument is not UTF-8"),
    (#"KISTD_DATA="$(printf '/caf\351')" kistd"#, "KISTD_DATA is not UTF-8"),
    (#"KISTD_ANY="$(printf '/caf\351')" kistd"#, "KISTD_ANY is not UTF-8"),
    (#"HOME="$(printf '/caf\351')" kistd"#, "HOME is not UTF-8"),
    (#"XDG_STATE_HOME="$(printf '/caf\351')" kistd"#, "XDG_STATE_HOME is not UTF-8"),
    (#"KIST_SOCKET="$(printf '/caf\351')" kistd"#, "KIST_SOCKET is not UTF-8"),
  ])
  func `is refused with status 64, and no file is created`(script: String, error: String)
    async throws
  {
    try await withHome { home in
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.status == .exited(64))
      #expect(end.error.contains(error), "\(end.error)")
      #expect(!end.error.contains("caf"), "\(end.error)")
      let made = try FileManager.default.contentsOfDirectory(atPath: home.path)
      #expect(made == ["run"])
    }
  }

  @Test func `is ignored in a variable that kistd does not read`() async throws {
    try await withHome { home in
      let end = try await command(
        "sh", ["-c", #"OTHER="$(printf 'caf\351')" kistd -- true"#], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
    }
  }
}
