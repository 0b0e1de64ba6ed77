import Foundation
import KistClient
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5))) struct `kist watch` {
  private func save(
    _ service: String, account: String = "a", in storage: UserStorage
  ) async throws {
    try await storage.save(
      NewCredential(
        key: CredentialKey(service: service, account: account), secret: Secret(utf8: "canary")))
  }

  @Test func `reports each change to two watchers and never prints a secret`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        let status = try await withWatch(in: home) { watch in
          try await watch.untilBegun(storage)
          try await withWatch(in: home, named: "other", ["s", "--json"]) { other in
            try await other.untilBegun(storage, service: "s")
            try await save("t", in: storage)
            try await save("s", in: storage)
            #expect(try await command("kist", ["delete", "s", "a"], in: home).status == .exited(0))
            try await watch.until("all") { $0.last?.hasPrefix("deleted\ts\ta\t") == true }
            #expect(watch.lines.contains { $0.hasPrefix("saved\tt\ta\t") })
            try await other.until("those of the service") { $0.last?.contains("deleted") == true }
            #expect(!other.lines.contains { $0.contains(#""t""#) })
            let saved = #"{"event":"saved","service":"s","account":"a","#
            #expect(other.lines.contains { $0.hasPrefix(saved) })
            #expect(!(other.lines + watch.lines).contains { $0.contains("canary") })
          }
        }
        #expect(status == .signaled(SIGTERM))
      }
    }
  }

  @Test func `reconnects to the next kistd and reports the lost connection`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { first in
        try await withWatch(in: home) { watch in
          try await watch.untilBegun(first.connect())
          first.send(.terminate)
          try await watch.until("the lost connection is reported") { _ in
            watch.errors.contains("kist reconnects")
          }
          try await untilEnded(first.processIdentifier)
          try await withDaemon(in: home) { next in
            let storage = next.connect()
            for _ in 0..<2000 where !watch.lines.contains(where: { $0.hasPrefix("saved\tlater\t") })
            {
              try await save("later", in: storage)
              try await Task.sleep(for: .milliseconds(5))
            }
            #expect(watch.lines.contains { $0.hasPrefix("saved\tlater\t") })
          }
        }
      }
    }
  }

  @Test func `exits with 7 if no kistd runs, or with --no-reconnect when kistd stops`() async throws
  {
    try await withHome { home in
      let none = try await command("kist", ["watch"], in: home)
      #expect(none.status == .exited(7))
      var ended: TerminationStatus?
      try await withDaemon(in: home) { daemon in
        ended = try await withWatch(in: home, ["--no-reconnect"]) { watch in
          try await watch.untilBegun(daemon.connect())
          daemon.send(.terminate)
          try await untilEnded(watch.processIdentifier)
          #expect(watch.errors.contains("the connection to kistd ended"))
        }
      }
      #expect(ended == .exited(7))
    }
  }

  @Test func `runs a command for changes, one at a time, with the latest of each credential`()
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        // The command waits for the file `go`, so that more changes arrive while it runs.
        let script =
          #"echo "$KIST_EVENT $KIST_SERVICE/$KIST_ACCOUNT"; while [ ! -e "$HOME/go" ]; do sleep 0.01; done"#
        try await withWatch(in: home, ["--exec", "sh", "-c", script]) { watch in
          try await watch.untilBegun(storage)
          for _ in 0..<5 {
            try await save("s", account: "a", in: storage)
            try await save("s", account: "b", in: storage)
          }
          try await storage.delete(CredentialKey(service: "s", account: "b"))
          try await save("last", in: storage)
          _ = FileManager.default.createFile(atPath: home.path + "/go", contents: nil)
          try await watch.until("the last") { $0.last == "saved last/a" }
          let lines = watch.lines.filter { !$0.hasSuffix("begin/begin") }
          // Changes that are still buffered when the command ends may be reported one by one.
          #expect(lines.filter { $0 == "saved s/a" }.count <= 5)
          #expect(lines.contains("deleted s/b"))
          let last = lines.lastIndex(of: "saved s/b") ?? -1
          #expect(last < lines.lastIndex(of: "deleted s/b")!)
          #expect(watch.errors.isEmpty)
        }
      }
    }
  }

  @Test func `continues after a command fails, and exits if the command cannot be started`()
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        try await withWatch(in: home, ["--exec", "sh", "-c", "echo $KIST_SERVICE; exit 3"]) {
          watch in
          try await watch.untilBegun(storage)
          try await save("next", in: storage)
          try await watch.until("the next") { $0.last == "next" }
          #expect(watch.errors.contains("the command ended with status 3"))
        }
        let status = try await withWatch(in: home, ["--exec", "/nonexistent"]) { watch in
          for _ in 0..<2000 where watch.errors.isEmpty {
            try await save("s", in: storage)
            try await Task.sleep(for: .milliseconds(5))
          }
          #expect(watch.errors.contains("the command cannot be started"))
          try await untilEnded(watch.processIdentifier)
        }
        #expect(status == .exited(127))
      }
    }
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `passes termination signals to its command, then ends by the same signal`(number: CInt)
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let script =
          #"trap 'echo caught; exit 0' \#(number); echo begin; while :; do sleep 0.01; done"#
        let status = try await withWatch(in: home, ["--exec", "sh", "-c", script]) { watch in
          try await watch.untilBegun(daemon.connect())
          watch.send(Signal(rawValue: number))
          try await watch.until("the command has it") { $0.last == "caught" }
          try await untilEnded(watch.processIdentifier)
        }
        #expect(status == .signaled(number))
      }
    }
  }

  @Test func `passes SIGUSR1 to its command and continues`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let script = #"trap 'echo caught; exit 0' USR1; echo begin; while :; do sleep 0.01; done"#
        try await withWatch(in: home, ["--exec", "sh", "-c", script]) { watch in
          try await watch.untilBegun(daemon.connect())
          for count in 1...2 {
            watch.send(.userDefinedOne)
            try await watch.until("the command has it") {
              $0.filter { $0 == "caught" }.count == count
            }
            if count == 1 {
              try await save("s", in: daemon.connect())
              try await watch.until("it runs again") { $0.last == "begin" && $0.count > 2 }
            }
          }
        }
      }
    }
  }

  @Test func `adds one line to the audit log`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await withWatch(in: home, ["s"]) { watch in
          try await watch.untilBegun(daemon.connect(), service: "s")
        }
        let log = try await command("kist", ["audit", "--operation", "watch", "--json"], in: home)
        let lines = log.output.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.contains(#""outcome":"ok""#) == true)
        #expect(lines.first?.contains(#""service":"s""#) == true)
      }
    }
  }

  @Test func `delivers new passwords with the rotation script from the documentation`() async throws
  {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/watching.md"), encoding: .utf8)
    let block = try #require(page.firstMatch(of: /(?s)```sh\n(#!\/bin\/sh\n# Gives the app.*?)```/))
    try await withHome { home in
      let manager = FileManager.default
      func install(_ name: String, _ script: String) throws {
        try script.write(toFile: "\(home.path)/\(name)", atomically: false, encoding: .utf8)
        try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: "\(home.path)/\(name)")
      }
      try install("rotate", String(block.1))
      try install("app-ctl", "#!/bin/sh\n[ \"$1\" = set-password ] && cat && echo\n")
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        let words = ["PATH=\(home.path):\(programs):/usr/bin:/bin", "\(home.path)/rotate"]
        try await withWatch(in: home, ["db.example", "--exec", "env"] + words) { watch in
          func rotate(to password: String) async throws {
            let saved = try await command(
              "kist", ["save", "db.example", "app"], in: home, input: password)
            #expect(saved.status == .exited(0))
          }
          for _ in 0..<2000 where watch.lines.isEmpty { try await rotate(to: "the first") }
          for password in ["the second", "the third"] {
            try await rotate(to: password)
            try await watch.until(password) { $0.last == password }
          }
          try await storage.delete(CredentialKey(service: "db.example", account: "app"))
          try await rotate(to: "the fourth")
          try await watch.until("the fourth") { $0.last == "the fourth" }
        }
      }
    }
  }
}
