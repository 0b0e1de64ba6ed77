import Foundation
import KistClient
import KistCluster
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(20))) struct `kistd with a shared vault` {
  @Test(arguments: UserStorageContract.all)
  func `keeps the contract`(rule: UserStorageContract.Rule) async throws {
    try await withSteppedClock { clock, variables in
      try await withVault(variables) { daemon in
        try await rule.check(.init(storage: daemon.connect(), clock: clock) { daemon.connect() })
      }
    }
  }

  @Test(arguments: WatchContract.all)
  func `keeps the contract with watchers`(rule: WatchContract.Rule) async throws {
    try await withVault { daemon in
      try await rule.check(
        .init(storage: daemon.connect(), watch: .remote(socketPath: daemon.home.socket)))
    }
  }

  /// Runs kistd with a new vault, in the cluster that the program KIST_ADAPTER serves, or in memory.
  private func withVault(
    _ variables: [String: String] = [:], _ body: (Daemon) async throws -> Void
  ) async throws {
    let adapter = ProcessInfo.processInfo.environment["KIST_ADAPTER"]
    let new = try await NewVault.made.value
    let cluster =
      if let adapter { try await SharedCluster(servedBy: adapter) } else {
        try SharedCluster(new.engine.forked())
      }
    try await withHome { home in
      var home = home
      home.variables = variables
      if adapter == nil {
        try new.copy(to: home)
      } else {
        _ = try await cluster.makeVault(in: home)
      }
      let end = try await withDaemon(in: home, cluster.options, body)
      #expect(end.status == .exited(0), "\(end.log)")
    }
    await cluster.stop()
  }

  /// Calls the body with a clock, and with the variables that make programs follow it.
  private func withSteppedClock(
    _ body: (ManualClock, [String: String]) async throws -> Void
  ) async throws {
    try await withHome { directory in
      let (file, library) = (directory.path + "/clock", directory.path + "/clock.so")
      let source = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Cluster/wrong_clock.c").path
      let compiled = try await command(
        "gcc", ["-shared", "-fPIC", "-o", library, source], in: directory)
      try #require(compiled.status == .exited(0), "\(compiled.error)")
      try #require(FileManager.default.createFile(atPath: file, contents: nil))
      let shown = try FileHandle(forWritingTo: URL(filePath: file))
      let show: @Sendable (Timestamp) -> Void = { moment in
        let bytes = unsafe withUnsafeBytes(of: moment.secondsSinceEpoch) { unsafe Data($0) }
        do {
          try shown.seek(toOffset: 0)
          try shown.write(contentsOf: bytes)
        } catch { Issue.record(error) }
      }
      show(.sample)
      try await body(
        ManualClock(whenMoved: show), ["LD_PRELOAD": library, "CLOCK_FILE": file])
    }
  }
}

/// A new vault in memory, and the files of its machine.
///
/// Each test copies it, because the key of the admin's passphrase takes a second of processor time.
private struct NewVault {
  let engine: MemoryEngine
  /// The contents of the files, by their paths in the home directory.
  let files: [String: Data]

  static let made = Task {
    let cluster = try SharedCluster()
    return try await withHome { home in
      _ = try await cluster.makeVault(in: home)
      await cluster.stop()
      let names = try FileManager.default.subpathsOfDirectory(atPath: home.path + "/.local")
      let files = names.map { ".local/" + $0 }.compactMap { name in
        FileManager.default.contents(atPath: home.path + "/" + name).map { (name, $0) }
      }
      return NewVault(engine: cluster.engine, files: Dictionary(uniqueKeysWithValues: files))
    }
  }

  func copy(to home: Home) throws {
    for (name, content) in files {
      let path = URL(filePath: home.path + "/" + name)
      try FileManager.default.createDirectory(
        at: path.deletingLastPathComponent(), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      try #require(
        FileManager.default.createFile(
          atPath: path.path, contents: content, attributes: [.posixPermissions: 0o600]))
    }
  }
}
