#if Libsecret
  import Foundation
  import KistClient
  import Testing

  /// Whether `make leaks` runs these tests, which take a minute, with the release build of kistd.
  private let isAsked = ProcessInfo.processInfo.environment["KIST_LEAKS"] != nil

  @Suite(.needsKeyring, .enabled("`make leaks` runs this") { isAsked }, .timeLimit(.minutes(10)))
  struct `The memory of kistd with a keyring` {
    /// The KiB by which the memory may grow during the second half.
    ///
    /// It grows by a few pages when something first happens late. The smallest block of malloc(3)
    /// has 32 bytes, so a leak of one for each load takes 160 KiB in the second half of 1,000
    /// rounds. Valgrind finds rare leaks, in `make leaks`.
    private static let tolerance = 128
    /// Rounds of a save and ten loads.
    private static let rounds = 1_000

    @Test func `does not grow during the second half of many saves and loads`() async throws {
      try await withKeyring { home, _, _ in
        try await withDaemon(in: home, ["--storage", "libsecret"]) { daemon in
          let storage = daemon.connect()
          let start = try residentSize(of: daemon.processIdentifier)
          var curve: [Int] = []
          for round in 0..<Self.rounds {
            try await saveAndLoad(round, storage)
            if (round + 1).isMultiple(of: Self.rounds / 20) {
              curve.append(try residentSize(of: daemon.processIdentifier))
            }
          }
          let growth = curve.last! - curve[curve.count / 2 - 1]
          #expect(growth <= Self.tolerance, "resident KiB, at twenty moments: \(curve)")
          // The measured value changes when kistd works.
          #expect(curve[0] > start)
        }
      }
    }

    private func saveAndLoad(_ round: Int, _ storage: UserStorage) async throws {
      let key = CredentialKey(service: "example.org", account: "\(round % 10)")
      let secret = Secret(utf8: String(repeating: "\(round)\n", count: 1 + round % 100))
      try await storage.save(NewCredential(key: key, secret: secret, label: "\(round)"))
      for _ in 0..<10 { #expect(try await storage.load(key).secret == secret) }
    }
  }

  /// The KiB of a process's memory that are in RAM and not mapped from a file, such as its program
  /// (proc_pid_status(5), RssAnon).
  private func residentSize(of process: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    return try #require(status.firstMatch(of: /RssAnon:\s+(\d+) kB/).flatMap { Int($0.1) })
  }
#endif
