import Foundation
import KistClient
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A pass store` {
  @Test func `is imported with gpg, and no secret appears in an argument or a file`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let script = """
          set -e
          gpg --batch --quiet --passphrase '' --quick-generate-key test default default never
          pass init test
          printf 'hunter2\\nlogin: x\\n' | pass insert --multiline github.com/alice
          printf 'a b\\n' | pass insert --multiline router
          head -c 3000000 /dev/zero | tr '\\0' x | pass insert --multiline big
          cd "$HOME/.password-store"
          mkdir .hidden && cp router.gpg .hidden/
          ln -s github.com linked
          mkfifo pipe.gpg
          cp router.gpg "$(printf 'caf\\351.gpg')"
          """
        let store = try await command("sh", ["-c", script], in: home)
        #expect(store.status == .exited(0), "\(store.error)")
        let traced = home.path + "/trace"
        let end = try await command(
          "strace",
          ["-f", "-qq", "-s", "4096", "-e", "trace=execve,openat", "-o", traced]
            + ["kist", "import", "pass", "--yes"], in: home)
        #expect(end.status == .exited(0), "\(end.error)")
        #expect(end.output == "new\t.hidden\trouter\t\nnew\tgithub.com\talice\t\nnew\trouter\t\t\n")
        // Before this, gpg reports that its output was closed.
        #expect(
          end.error.hasSuffix(
            """
            kist: not imported: entries with a name or a secret that kist cannot keep (1: entry big)
            kist: not imported: entries that could not be decrypted (1: entry pipe)
            kist: not imported: entries with a name that is not UTF-8 (1: entry caf\u{FFFD}.gpg)
            kist: not imported: symbolic links to folders (1: entry linked)
            kist: not imported: further fields (1: entry github.com/alice)

            """), "\(end.error)")
        for (key, secret) in [
          (CredentialKey(service: "github.com", account: "alice"), "hunter2"),
          (CredentialKey(service: "router"), "a b"),
        ] {
          #expect(try await daemon.connect().load(key).secret == Secret(utf8: secret))
        }
        let trace = try String(contentsOfFile: traced, encoding: .utf8)
        #expect(trace.contains("--decrypt"))
        #expect(!trace.contains("hunter2"))
        // Thread Sanitizer creates a file for its memory and removes it at once.
        let made = trace.split(separator: "\n").filter {
          $0.contains("O_CREAT") && !$0.contains("/.gnupg/") && !$0.contains("/tmp/tsan.rodata.")
        }
        #expect(made == [], "only gpg creates files")
        _ = try await command("gpgconf", ["--kill", "all"], in: home)
      }
    }
  }

  @Test func `is not imported if gpg cannot decrypt the first entry`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let folder = home.path + "/.password-store"
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true)
        try "no message".write(toFile: folder + "/a.gpg", atomically: false, encoding: .utf8)
        let end = try await command("kist", ["import", "pass", "--yes"], in: home)
        #expect(end.status == .exited(6))
        #expect(end.error.contains("kist: gpg cannot decrypt the first entry\n"))
        _ = try await command("gpgconf", ["--kill", "all"], in: home)
      }
    }
  }
}
