import Foundation
import KistClient
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(2))) struct `The audit log of kistd` {
  private func path(in home: Home) -> String { home.path + "/.local/state/kist/audit.jsonl" }

  private func lines(in home: Home) throws -> [[String: Any]] {
    try String(contentsOfFile: path(in: home), encoding: .utf8).split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
    }
  }

  @Test func `records each request with its outcome, without values or plaintext names`()
    async throws
  {
    try await withHome { home in
      let requests = """
        {"op":"save","service":"canary-service","account":"canary-account","secret":"canary-secret",\
        "label":"canary-label","attributes":{"canary-name":"canary-value"}}
        {"op":"load","service":"canary-service","account":"canary-account"}
        {"op":"load","service":"canary-missing"}
        {"op":"find","account":"canary-account","attributes":{"canary-name":"canary-value"}}
        {"op":"save","service":"canary-service","secret":"canary-secret","canary-key":1}
        {"op":"canary-operation"}
        {"op":"unlock","passphrase":"canary-passphrase"}
        {"op":"delete","service":"canary-service","account":"canary-account"}

        """
      try await withDaemon(in: home) { _ in
        let talk = try await command(
          "socat", ["-t", "30", "-", "UNIX:\(home.socket)"], in: home, input: requests)
        #expect(talk.output.split(separator: "\n").count == 8)
      }
      let log = try String(contentsOfFile: path(in: home), encoding: .utf8)
      #expect(!log.contains("canary"))
      let mode = try FileManager.default.attributesOfItem(atPath: path(in: home))[.posixPermissions]
      #expect(mode as? Int == 0o600)
      let all = try lines(in: home).filter { $0["claims"] as? String == "socat" }
      #expect(
        all.map { $0["operation"] as? String } == [
          "save", "load", "load", "find", "save", nil, "unlock", "delete",
        ])
      #expect(
        all.map { $0["outcome"] as? String } == [
          "ok", "ok", "notFound", "ok", "badRequest", "unknownOperation", "wrongPassphrase", "ok",
        ])
      #expect(
        all.map { $0["names"] != nil } == [true, true, true, true, true, false, false, true])
      #expect(all.allSatisfy { $0["uid"] as? Int == Int(getuid()) })

      // The Python reader, written from the documentation of the format, decrypts the names.
      let opened = try await readStore(home, ["--audit", path(in: home)]).split(separator: "\n")
      #expect(opened.count { $0.contains(#""service": "canary-service""#) } == 4)
      #expect(opened.count { $0.contains(#""service": "canary-missing", "account": """#) } == 1)
    }
  }

  @Test func `records the program that an adapter names, under the chain, and does not believe it`()
    async throws
  {
    try await withHome { home in
      let claim = #""onBehalfOf":{"program":"gh","pid":1,"unit":"gh.scope"}"#
      let requests = """
        {"op":"save","service":"s","account":"a","secret":"pw",\(claim)}
        {"op":"load","service":"s","account":"a",\(claim)}
        {"op":"load","service":"s","account":"a"}

        """
      try await withDaemon(in: home) { _ in
        let talk = try await command(
          "socat", ["-t", "30", "-", "UNIX:\(home.socket)"], in: home, input: requests)
        #expect(talk.output.split(separator: "\n").count == 3)
        let shown = try await command("kist", ["audit", "--json", "--service", "s"], in: home)
        let records = shown.output.split(separator: "\n")
        #expect(records.map { $0.contains(claim) } == [true, true, false], "\(shown.output)")
        #expect(records.allSatisfy { $0.contains(#""claims":"socat""#) })
        // A search by pid or unit is about the process that connected.
        for option in ["--pid=1", "--unit=gh.scope"] {
          #expect(try await command("kist", ["audit", option], in: home).output == "")
        }
        let verified = try await command("kist", ["audit", "--verify"], in: home)
        #expect(verified.status == .exited(0), "\(verified.output)")
      }
      let opened = try await readStore(home, ["--audit", path(in: home), "--verify"])
      #expect(opened.contains(#""program": "gh""#), "\(opened)")
    }
  }

  @Test func `names clients that have already exited, and kist audit shows them`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        #expect(
          try await command("kist", ["save", "s", "a"], in: home, input: "pw").status == .exited(0))
        #expect(try await command("kist", ["load", "s", "a"], in: home).output == "pw")
        #expect(try await command("kist", ["load", "missing"], in: home).status == .exited(2))
        // Once kistd has identified it, the client sends its request and exits before the answer.
        let client = """
          import socket, sys
          s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); f = s.makefile("rw")
          print('{"op":"status"}', file=f, flush=True); f.readline()
          print('{"op":"load","service":"s","account":"a"}', file=f, flush=True)
          """
        _ = try await command("python3", ["-c", client, home.socket], in: home)

        let shown = try await command(
          "kist", ["audit", "--service", "s", "--operation", "load", "--json"], in: home)
        let records = try shown.output.split(separator: "\n").map {
          try #require(
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(records.map { $0["claims"] as? String } == ["kist", "python3"])
        #expect(records.allSatisfy { $0["account"] as? String == "a" && $0["pid"] is Int })
        let missing = try await command("kist", ["audit", "--outcome", "notFound"], in: home)
        #expect(missing.output.contains("\tload\tnotFound\t"))
        #expect(missing.output.hasSuffix("\tmissing\t\n"))
        #expect(
          try await command("kist", ["audit", "-n", "1"], in: home).output.contains("audit\tok"))
      }
    }
  }

  @Test func `passes verification by kist and the Python reader, and kist detects a removed line`()
    async throws
  {
    try await withHome { home in
      for _ in 0..<2 {
        try await withDaemon(in: home) { _ in
          for number in 0..<5 {
            _ = try await command("kist", ["save", "s", "\(number)"], in: home, input: "pw")
          }
          let whole = try await command("kist", ["audit", "--verify"], in: home)
          #expect(whole.output.hasPrefix("ok: verified "), "\(whole.output)\(whole.error)")
          #expect(whole.status == .exited(0))
        }
      }
      let reading = ["--audit", path(in: home), "--verify"]
      #expect(try await readStore(home, reading).contains(#""operation": "save""#))
      var log = try String(contentsOfFile: path(in: home), encoding: .utf8)
        .components(separatedBy: "\n")
      log.remove(at: log.count / 2)
      try log.joined(separator: "\n").write(
        toFile: path(in: home), atomically: false, encoding: .utf8)
      try await withDaemon(in: home) { _ in
        let changed = try await command("kist", ["audit", "--verify"], in: home)
        #expect(changed.error.contains("1 line is missing at or before line"), "\(changed.error)")
        #expect(changed.status == .exited(10))
      }
    }
  }

  @Test func `hides names while the storage is locked`() async throws {
    try await withHome { home in
      try await withDaemon(in: home, ["--passphrase-fd", "0"], input: "open sesame") { _ in
        _ = try await command("kist", ["save", "s", "a"], in: home, input: "pw")
        _ = try await command("kist", ["lock"], in: home)
        #expect(try await command("kist", ["load", "s", "a"], in: home).status == .exited(5))
        let locked = try await command("kist", ["audit", "--operation", "save"], in: home)
        #expect(locked.output.hasSuffix("\t(sealed)\t(sealed)\n"))
        #expect(locked.error.contains("kist unlock"))
        let asked = try await command("kist", ["audit", "--service", "s"], in: home)
        #expect(asked.status == .exited(5))
        _ = try await command("kist", ["unlock"], in: home, input: "open sesame")
        let open = try await command("kist", ["audit", "--service", "s"], in: home)
        // Requests made while it was locked have no names.
        #expect(open.output.split(separator: "\n").count == 1)
        #expect(open.output.hasSuffix("\ts\ta\n"))
        #expect(open.error.isEmpty)
      }
    }
  }

  @Test func `keeps written records across a restart and a SIGKILL`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        _ = try await command("kist", ["save", "first"], in: home, input: "pw")
      }
      try await withDaemon(in: home) { daemon in
        _ = try await command("kist", ["save", "second"], in: home, input: "pw")
        _ = try await command("kist", ["save", "third"], in: home, input: "pw")
        // kistd writes its records before it shows them.
        _ = try await command("kist", ["audit"], in: home)
        daemon.send(.kill)
      }
      try await withDaemon(in: home) { _ in
        let shown = try await command("kist", ["audit", "--operation", "save"], in: home)
        #expect(shown.output.split(separator: "\n").count == 3, "\(shown.output)")
        for name in ["first", "second", "third"] {
          #expect(shown.output.contains("\t\(name)\t\n"))
        }
      }
    }
  }

  @Test func `is not written with --audit off`() async throws {
    try await withHome { home in
      try await withDaemon(in: home, ["--audit", "off"]) { _ in
        _ = try await command("kist", ["save", "s"], in: home, input: "pw")
        let asked = try await command("kist", ["audit"], in: home)
        #expect(asked.status == .exited(7))
        #expect(asked.error.contains("keeps no audit log"))
      }
      #expect(!FileManager.default.fileExists(atPath: path(in: home)))
    }
  }

  @Test func `logs one message and fails no request if it cannot be written`() async throws {
    try await withHome { home in
      let end = try await withDaemon(in: home) { _ in
        try? FileManager.default.removeItem(atPath: path(in: home))
        try FileManager.default.createDirectory(
          atPath: path(in: home), withIntermediateDirectories: false)
        for _ in 0..<3 {
          #expect(
            try await command("kist", ["save", "s"], in: home, input: "pw").status == .exited(0))
          _ = try await command("kist", ["audit"], in: home)
        }
      }
      #expect(end.status == .exited(0))
      #expect(
        end.log.split(separator: "\n").count { $0.contains("cannot write the audit log") } == 1)
    }
  }
}
