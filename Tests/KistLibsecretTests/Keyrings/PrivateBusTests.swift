import Foundation
import Glibc
import KistKeyrings
import Testing

@Suite(.requires(.dbusDaemon, .gdbus), .timeLimit(.minutes(10)))
struct `A private bus` {
  @Test func `has no provider and activates none`() async throws {
    try await withPrivateBus { bus in
      #expect(try await bus.hasProvider() == false)
      #expect(try await bus.defaultCollection() == nil)
      let reply = try await readAlias(on: bus)
      #expect(reply.errors.contains("ServiceUnknown"))
    }
  }

  @Test func `shows programs nothing of the world outside`() async throws {
    try await withPrivateBus { bus in
      let names = try await bus.run("/usr/bin/env", []).text.split(separator: "\n")
        .map { $0.prefix { $0 != "=" } }
      #expect(!names.contains("DISPLAY") && names.contains("DBUS_SESSION_BUS_ADDRESS"))
      for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        let directory = try #require(bus.environment[name])
        #expect(directory.hasPrefix(bus.session.folder))
        let mode = try FileManager.default.attributesOfItem(atPath: directory)[.posixPermissions]
        #expect(mode as? Int == 0o700)
      }
    }
  }

  @Test func `leaves no process and no file behind, also when the test fails`() async throws {
    struct Failure: Error {}
    var folder = ""
    await #expect(throws: Failure.self) {
      try await withPrivateBus(activation: .hangs) { bus in
        folder = bus.session.folder
        Task { try await readAlias(on: bus) }
        try await poll("the activated program runs") {
          commands(in: folder).contains { $0.hasPrefix("/usr/bin/sleep") }
        }
        throw Failure()
      }
    }
    try #require(!folder.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: folder))
    try await poll("all that was killed has ended") { commands(in: folder) == [] }
  }

  @Test func `says nothing on the descriptors of others once its test has ended`() async throws {
    let bus = try await withPrivateBus { $0 }
    var pairs = (0..<32).map { _ in [CInt](repeating: -1, count: 2) }
    for index in pairs.indices {
      let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      try #require(unsafe socketpair(AF_UNIX, kind, 0, &pairs[index]) == 0)
    }
    defer { for end in pairs.joined() { close(end) } }
    // It was killed, and may take its time to end.
    try await poll("the bus has ended") { !bus.isRunning }
    for end in pairs.joined() {
      var byte: UInt8 = 0
      #expect(unsafe recv(end, &byte, 1, CInt(MSG_DONTWAIT)) == -1)
    }
  }

  @Test func `reports an activation that fails`() async throws {
    try await withPrivateBus(activation: .exits(1)) { bus in
      let reply = try await readAlias(on: bus)
      #expect(reply.errors.contains("ChildExited"))
    }
  }

  @Test func `reports an activation that hangs, after its start timeout`() async throws {
    try await withPrivateBus(activation: .hangs, startTimeout: .milliseconds(200)) { bus in
      let reply = try await readAlias(on: bus)
      #expect(reply.errors.contains("service_start_timeout"))
    }
  }

  @Test func `can be killed and started again at its address`() async throws {
    try await withPrivateBus { bus in
      await bus.kill()
      #expect(!bus.isRunning)
      #expect(try await readAlias(on: bus).status != 0)
      try await bus.restart()
      #expect(try await readAlias(on: bus).errors.contains("ServiceUnknown"))
    }
  }

  @Test func `ends a program at its bound`() async throws {
    try await withPrivateBus { bus in
      let output = try await bus.run("/usr/bin/sleep", ["600"], within: .milliseconds(50))
      #expect(output.status == nil)
    }
  }
}

@discardableResult
private func readAlias(on bus: PrivateBus) async throws -> Output {
  try await bus.call(
    "org.freedesktop.secrets", "/org/freedesktop/secrets",
    "org.freedesktop.Secret.Service.ReadAlias", ["default"])
}

/// The command lines of the processes with an environment that names a folder.
private func commands(in folder: String) -> [String] {
  let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
  return entries.filter { Int($0) != nil }.filter { identifier in
    text("/proc/\(identifier)/environ").contains(folder)
  }.map { text("/proc/\($0)/cmdline") }
}

private func text(_ path: String) -> String {
  String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
}
