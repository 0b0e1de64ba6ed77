import Foundation
import KistCluster
import KistClusterSocket
import KistServer
import Logging
import Subprocess
import Testing

/// A cluster that an adapter serves at a socket: in memory, by this process, or by another program.
final class SharedCluster: Sendable {
  /// All clusters of this process have one thread.
  private static let executor = EventLoopExecutor()

  let engine: MemoryEngine
  private let directory: String
  private let serving: Task<Void, any Error>

  var socket: String { directory + "/cluster.sock" }
  /// The options of kistd that name the cluster.
  var options: [String] { ["--cluster", socket] }

  /// Serves a cluster at a path; by default in a new directory.
  init(_ engine: MemoryEngine = MemoryEngine(), in directory: String? = nil) throws {
    self.engine = engine
    let directory = directory ?? "/tmp/kist-cluster-\(UUID().uuidString.prefix(8))"
    self.directory = directory
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    let descriptor = try listen(at: directory + "/cluster.sock")
    serving = Task {
      try await engine.cluster.serve(
        listeningOn: descriptor, as: "adapter", on: Self.executor,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
  }

  /// Serves a new vault of a real cluster by a program that takes the options of kist-etcd, such as
  /// kist-etcd itself; `engine` is not used.
  init(servedBy program: String) async throws {
    engine = MemoryEngine()
    let directory = "/tmp/kist-cluster-\(UUID().uuidString.prefix(8))"
    self.directory = directory
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    let socket = directory + "/cluster.sock"
    let vault = UUID().uuidString.replacing("-", with: "").lowercased()
    serving = Task {
      _ = try await run(
        .name("env"), arguments: [program, "--vault", vault, "--socket", socket],
        output: .discarded, error: .discarded)
    }
    for _ in 0..<2000 where !FileManager.default.fileExists(atPath: socket) {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Ends the adapter, and waits until no connection is left.
  func stop() async {
    serving.cancel()
    _ = await serving.result
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Makes a vault on the machine of a home, with the name `one`; returns the line to join it.
  func makeVault(in home: Home) async throws -> String {
    let end = try await vault(
      ["init", "--name", "one", "--admin-key", home.path + "/admin"], in: home)
    try #require(end.status == .exited(0), "\(end.error)")
    return try #require(end.output.split(separator: "\n").first.map(String.init))
  }

  /// Adds the machine of another home to the vault, and lets it join.
  func add(_ new: Home, by home: Home, named name: String, _ options: [String] = []) async throws {
    let line = try await invite(new, by: home, named: name, options)
    let joined = try await vault(["join", line], in: new)
    try #require(joined.status == .exited(0), "\(joined.error)")
  }

  /// Adds the machine of another home to the vault; returns the line with which it joins.
  func invite(
    _ new: Home, by home: Home, named name: String, _ options: [String] = []
  ) async throws -> String {
    let identity = try await vault(["identity"], in: new).output.dropLast()
    let added = try await vault(
      ["add", String(identity), "--name", name, "--admin-key", home.path + "/admin"] + options,
      in: home)
    try #require(added.status == .exited(0), "\(added.error)")
    return String(added.output.dropLast())
  }

  /// Removes the machine with a name from the vault.
  func remove(_ name: String, by home: Home) async throws -> CommandResult {
    let members = try await vault(["members"], in: home).output.split(separator: "\n")
    let line = try #require(members.first { $0.contains(" \(name)") })
    let id = try #require(line.split(separator: " ").first.map(String.init))
    let end = try await vault(["remove", id, "--admin-key", home.path + "/admin"], in: home)
    try #require(end.status == .exited(0), "\(end.error)")
    return end
  }

  /// Runs `kistd vault` on the machine of a home; its standard input has the admin's passphrase.
  func vault(_ arguments: [String], in home: Home) async throws -> CommandResult {
    try await command(
      "kistd", ["vault"] + arguments + options, in: home, input: "of the admin\n")
  }
}
