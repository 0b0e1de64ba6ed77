import ArgumentParser
import Foundation
import KistCore
import Logging
import Testing

@testable import KistDaemon

/// A daemon in a directory that never gets its storage open.
private func daemon(
  in directory: String, command: [String] = [], opening: @escaping @Sendable () -> Void
) throws -> Daemon {
  var options = try Kistd.parse([]).options { ["HOME": directory][$0] }
  options.command = command
  options.socket = command.isEmpty ? directory + "/s" : nil
  var daemon = Daemon(
    options: options,
    open: { _ throws(StorageError) in
      opening()
      let (never, continuation) = AsyncStream.makeStream(of: Void.self)
      for await _ in never {}
      continuation.finish()
      throw .internal("this never ends")
    },
    environment: { ["XDG_RUNTIME_DIR": directory][$0] }, logger: .kistd(level: .critical))
  if !command.isEmpty {
    try daemon.prepareCommand(
      previous: Hardening.Previous(
        umask: 0o077, coreLimit: rlimit(), lockedMemoryLimit: rlimit()))
  }
  return daemon
}

@Suite(.timeLimit(.minutes(5)))
struct `Stopping kistd while it opens its storage` {
  @Test func `ends it and leaves no socket`() async throws {
    try await withDirectory { directory in
      let (openings, opening) = AsyncStream.makeStream(of: Void.self)
      let daemon = try daemon(in: directory) { opening.yield() }
      let run = Task { try await daemon.run(reopening: AsyncStream { _ in }) }
      for await _ in openings { break }
      #expect(isListenedOn(directory + "/s"))
      run.cancel()
      #expect(try await run.value == 0)
      #expect(mode(of: directory + "/s") == nil)
    }
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `by a signal is status 0`(_ number: CInt) async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .exitCode(0)) {
        [directory = directory as String, number = number as CInt] in
        let daemon = try daemon(in: directory) { kill(getpid(), number) }
        let signals = try Signals.take(forCommand: false)
        exit(try await untilStopped(daemon, by: signals, hasTerminal: true))
      }
      #expect(mode(of: directory + "/s") == nil)
    }
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1])
  func `by a signal has status 128 and its number with a command, which is not started`(
    _ number: CInt
  ) async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .exitCode(128 + number)) {
        [directory = directory as String, number = number as CInt] in
        let command = ["touch", directory + "/started"]
        let signals = try Signals.take(forCommand: true)
        let daemon = try daemon(in: directory, command: command) { kill(getpid(), number) }
        exit(try await untilStopped(daemon, by: signals, hasTerminal: true))
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(left.isEmpty, "no socket of its own, and nothing that the command makes")
    }
  }

  @Test func `is not done by SIGHUP under nohup`() async {
    await #expect(processExitsWith: .success) {
      signal(SIGHUP, SIG_IGN)
      _ = try Signals.take(forCommand: true)
      kill(getpid(), SIGHUP)
      if Signals.handOver() != nil { exit(1) }
    }
  }
}
