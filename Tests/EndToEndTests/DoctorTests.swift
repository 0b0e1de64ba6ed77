import Foundation
import KistCore
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Asking what is wrong` {
  @Test func `finds nothing wrong where kistd answers`() async throws {
    try await withHome { home in
      _ = try await withDaemon(in: home) { _ in
        let end = try await command("kist", ["doctor"], in: home)
        #expect(end.status == .exited(0), "\(end.output)")
        #expect(end.output.contains(" answers at \(home.path)"))
        #expect(end.output.contains("\nok\tstorage\tthe encrypted file: "))
        #expect(end.output.contains("\nok\tkeyring\tnot used: "))
        #expect(end.output.contains("\nok\tfiles\tnobody else is let into \(home.path)"))
        #expect(end.error.isEmpty)
      }
    }
  }

  @Test func `tells what kistd would open where none runs, and makes nothing`() async throws {
    try await withHome { home in
      let before = try contents(of: home)
      let end = try await command("kist", ["doctor"], in: home)
      #expect(end.status == .exited(7))
      #expect(end.output.hasPrefix("problem\tkistd\t"))
      #expect(end.output.contains("\nok\tstorage\tkistd would open the encrypted file: "))
      #expect(try contents(of: home) == before)
    }
  }

  @Test func `tells of a directory that lets others in, and of a program in the way`() async throws
  {
    try await withHome { home in
      _ = try await withDaemon(in: home) { _ in
        let store = URL(filePath: home.store).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: store)
        let end = try await command("kist", ["doctor", "--json"], in: home)
        #expect(end.status == .exited(0))
        #expect(
          end.output.contains(
            #"{"state":"note","subject":"files","message":"\#(store) lets other users in"#))
        let other = home.path + "/other/kist"
        try FileManager.default.createDirectory(
          atPath: home.path + "/other", withIntermediateDirectories: false)
        try "#!/bin/sh\n".write(toFile: other, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: other)
        let script = #"kist=$(command -v kist); PATH="$HOME/other:$PATH" exec "$kist" doctor"#
        let inTheWay = try await command("sh", ["-c", script], in: home)
        #expect(inTheWay.output.contains("by the name of kist, \(other) is run\t"))
      }
    }
  }

  @Test func `tells which storage it would be, and why none could be opened`() async throws {
    try await withHome { home in
      let chosen = try await command("kistd", ["probe"], in: home)
      #expect(chosen.status == .exited(0), "\(chosen.error)")
      #expect(chosen.output.hasPrefix("storage: encrypted-file\nreason: the encrypted file: "))
      #expect(chosen.output.contains("\nkeyring: not usable: "))
      let key = home.path + "/key"
      try Data(count: 32).write(to: URL(filePath: key))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
      let open = try await command("kistd", ["probe", "--key-file", key], in: home)
      #expect(open.status == .exited(6), "\(open.output)")
      #expect(open.output.contains("has mode 644"))
      let state = home.path + "/.local/state/kist"
      try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
      try "nonsense\n".write(toFile: state + "/storage", atomically: false, encoding: .utf8)
      let refused = try await command("kistd", ["probe", "--json"], in: home)
      #expect(refused.status == .exited(10), "\(refused.output)")
      #expect(refused.output.hasPrefix(#"{"error":{"code":"corrupt","#))
    }
  }

  @Test func `names what keeps a kistd that answers from its storage`() async throws {
    try await withHome { home in
      let words = ["--storage", "libsecret", "--", "kist", "doctor"]
      let end = try await command("kistd", words, in: home)
      #expect(end.status == .exited(7), "\(end.error)")
      #expect(end.output.hasPrefix("ok\tkistd\t"), "\(end.output)")
      #expect(end.output.contains("\nproblem\tstorage\t"), "\(end.output)")
    }
  }

  @Test func `lets each kistd start that starts meanwhile`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(.sample())
      }
      let probing = Task {
        while !Task.isCancelled { _ = try await command("kistd", ["probe"], in: home) }
      }
      for _ in 0..<10 {
        let end = try await withDaemon(in: home) { daemon in
          let all = try await daemon.connect().findAll()
          #expect(all.count == 1)
        }
        #expect(end.status == .exited(0), "\(end.log)")
      }
      probing.cancel()
      try await probing.value
    }
  }

  @Test func `answers a user who is not in the list of users`() async throws {
    try await withHome { home in
      let end = try await command(
        "unshare", ["--user", "--map-user=4242", "kist", "doctor"], in: home)
      #expect(end.status == .exited(7), "\(end.error)")
      #expect(end.output.contains("\nok\tstorage\t"), "\(end.output)")
    }
  }

  private func contents(of home: Home) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted()
  }
}
