import ArgumentParser
import Foundation
import KistClient
import KistServer
import KistTesting
import Logging
import Synchronization
import Testing

@testable import KistDaemon

/// The notifications that a service manager received.
private final class Manager: Sendable {
  private let notices = Mutex<[ServiceManager.Notice]>([])
  private let (stream, continuation) = AsyncStream.makeStream(of: ServiceManager.Notice.self)

  var serviceManager: ServiceManager {
    ServiceManager { notice in
      self.notices.withLock { $0.append(notice) }
      self.continuation.yield(notice)
    }
  }

  var all: [ServiceManager.Notice] { notices.withLock { $0 } }

  /// Waits for this number of further status notifications.
  func statuses(_ count: Int) async -> [String] {
    var statuses: [String] = []
    for await case .status(let text) in stream {
      statuses.append(text)
      if statuses.count == count { break }
    }
    return statuses
  }
}

/// A storage in memory with this status.
private func memory(isLocked: Bool = false, reopens: Bool = true) -> OpenStorage {
  let status = StorageStatus(
    storage: "memory", isLocked: isLocked, reopensAtRestart: reopens, durability: .memory,
    keyProtection: "none")
  return OpenStorage(
    credentials: .inMemory(now: { .sample }),
    access: StorageAccess(
      status: { () throws(StorageError) in status }, lock: { () throws(StorageError) in status },
      unlock: { _ throws(StorageError) in status }),
    durability: .memory, close: {})
}

@Suite(.timeLimit(.minutes(5))) struct `A storage that is opened again` {
  /// Runs a daemon in this process, on the storages that it opens one after another.
  private func withDaemon(
    opening openings: @escaping @Sendable (Int) async throws(StorageError) -> OpenStorage,
    manager: Manager, pause: @escaping @Sendable (Duration) async -> Void = { _ in },
    holdBack: @escaping @Sendable (StorageError) async -> Void = { _ in },
    stop: @escaping @Sendable () -> Void = { Issue.record("kistd stops by itself") },
    _ body: (_ socket: String, _ reopen: () -> Void, Task<CInt, any Error>) async throws -> Void
  ) async throws {
    try await withDirectory { directory in
      let options = try Kistd.parse([]).options { ["HOME": directory][$0] }
      let listening = try listen(at: directory + "/s")
      let count = Mutex(0)
      var daemon = Daemon(
        options: options,
        open: { _ throws(StorageError) in
          try await openings(
            count.withLock {
              $0 += 1
              return $0
            })
        },
        holdBack: holdBack, environment: { _ in nil }, logger: .kistd(level: .critical),
        sockets: PassedSockets(requests: listening), manager: manager.serviceManager)
      daemon.stop = stop
      daemon.retryTime = .seconds(3600)
      daemon.pause = pause
      let (requests, request) = AsyncStream.makeStream(of: Void.self)
      let run = Task { [daemon] in try await daemon.run(reopening: requests) }
      try await body(directory + "/s", { request.yield() }, run)
      run.cancel()
      #expect(try await run.value == 0)
    }
  }

  @Test
  func `answers each request of a service with the reason that it cannot be opened, until it can`()
    async throws
  {
    let manager = Manager()
    let isMended = Mutex(false)
    try await withDaemon(
      opening: { _ throws(StorageError) in
        guard isMended.withLock(\.self) else {
          throw StorageError(.corrupt, "it is damaged", hint: "mend it")
        }
        return memory()
      }, manager: manager
    ) { socket, reopen, _ in
      #expect(await manager.statuses(1).first?.contains("it is damaged") == true)
      let storage = UserStorage.remote(socketPath: socket)
      let error = await #expect(throws: StorageError.self) {
        try await storage.load(LoadRequest(key: CredentialKey(service: "s")))
      }
      #expect(error?.code == .corrupt && error?.hint == "mend it")
      let refusal = await #expect(throws: StorageError.self) {
        try await storage.save(
          NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x")))
      }
      #expect(refusal?.code == .corrupt && refusal?.outcome == .unchanged)
      isMended.withLock { $0 = true }
      reopen()
      #expect(await manager.statuses(1) == ["memory, open"])
      // On the same connection.
      _ = try await storage.save(
        NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x")))
    }
    let kinds = manager.all.map { $0.text.prefix { $0 != "=" } }
    #expect(Set(kinds.prefix(2)) == ["READY", "STATUS"], "whichever is first")
    #expect(kinds.dropFirst(2) == ["RELOADING", "READY", "STATUS"])
  }

  @Test func `is opened by the next request after the user mended it`() async throws {
    let manager = Manager()
    let isMended = Mutex(false)
    let tries = Atomic(0)
    let pauses = Atomic(0)
    try await withDaemon(
      opening: { _ throws(StorageError) in
        tries.add(1, ordering: .relaxed)
        guard isMended.withLock(\.self) else { throw StorageError(.denied, "others may write") }
        return memory()
      }, manager: manager,
      pause: { time in
        #expect(time > .zero && time <= .seconds(3600))
        pauses.add(1, ordering: .relaxed)
      }
    ) { socket, _, _ in
      _ = await manager.statuses(1)
      let storage = UserStorage.remote(socketPath: socket)
      let credential = NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x"))
      for _ in 1...3 {
        let refusal = await #expect(throws: StorageError.self) {
          try await storage.save(credential)
        }
        #expect(refusal?.code == .denied && refusal?.outcome == .unchanged)
      }
      isMended.withLock { $0 = true }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...8 { group.addTask { _ = try await storage.save(credential) } }
        try await group.waitForAll()
      }
      #expect(await manager.statuses(1) == ["memory, open"])
      let kept = try await storage.findAll()
      #expect(kept.count == 1, "it was opened once")
      #expect(tries.load(ordering: .relaxed) == 5, "at the start, and for four of the requests")
      #expect(pauses.load(ordering: .relaxed) == 4, "before each of these")
    }
  }

  @Test
  func `ends a service that cannot reach it, so that the next client starts the service again`()
    async throws
  {
    let manager = Manager()
    let (stops, stop) = AsyncStream.makeStream(of: Void.self)
    try await withDaemon(
      opening: { _ throws(StorageError) in throw StorageError(.unavailable, "the bus has ended") },
      manager: manager, stop: { stop.yield() }
    ) { socket, _, _ in
      let error = await #expect(throws: StorageError.self) {
        try await UserStorage.remote(socketPath: socket).findAll()
      }
      #expect(error?.message == "the bus has ended")
      for await _ in stops { break }
    }
  }

  @Test func `ends such a service even while clients try again all the time`() async throws {
    let (stops, stop) = AsyncStream.makeStream(of: Void.self)
    try await withDaemon(
      opening: { _ throws(StorageError) in throw StorageError(.unavailable, "the bus has ended") },
      manager: Manager(), stop: { stop.yield() }
    ) { socket, _, _ in
      let clients = Task {
        let storage = UserStorage.remote(socketPath: socket)
        while !Task.isCancelled { _ = try? await storage.findAll() }
      }
      for await _ in stops { break }
      clients.cancel()
    }
  }

  @Test func `serves the clients of the previous one`() async throws {
    let manager = Manager()
    try await withDaemon(opening: { _ in memory() }, manager: manager) { socket, reopen, _ in
      _ = await manager.statuses(1)
      let storage = UserStorage.remote(socketPath: socket)
      let credential = NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x"))
      _ = try await storage.save(credential)
      reopen()
      _ = await manager.statuses(1)
      let kept = try await storage.findAll()
      #expect(kept.isEmpty, "a new storage in memory is empty")
      _ = try await storage.save(credential)
    }
  }

  @Test func `is opened again, and others are served, while an answer is held back`() async throws {
    let manager = Manager()
    let (releases, release) = AsyncStream.makeStream(of: Void.self)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    try await withDaemon(
      opening: { _ in
        var storage = memory()
        storage.access.unlock = { _ throws(StorageError) in throw .wrongPassphrase }
        return storage
      }, manager: manager,
      holdBack: { error in
        guard error.code == .wrongPassphrase else { return }
        begin.yield()
        for await _ in releases { break }
      }
    ) { socket, reopen, _ in
      _ = await manager.statuses(1)
      let isAnswered = Mutex(false)
      async let code = {
        let error = await #expect(throws: StorageError.self) {
          try await StorageAccess.remote(socketPath: socket).unlock(Secret(utf8: "hunter2"))
        }
        isAnswered.withLock { $0 = true }
        return error?.code
      }()
      for await _ in begun { break }
      reopen()
      let isReopened = await withTaskGroup(of: Bool.self) { group in
        group.addTask { await manager.statuses(1).count == 1 }
        group.addTask {
          try? await Task.sleep(for: .seconds(20))
          return false
        }
        defer { group.cancelAll() }
        return await group.next() ?? false
      }
      #expect(isReopened)
      // The reopening waits for the answer then, and so would everything else here.
      guard isReopened else {
        release.yield()
        return
      }
      let found = try await UserStorage.remote(socketPath: socket).findAll()
      #expect(found.isEmpty)
      #expect(isAnswered.withLock(\.self) == false)
      release.yield()
      #expect(await code == .wrongPassphrase)
    }
  }

  @Test(arguments: [(true, true), (true, false), (false, false)])
  func `is not opened again if the user locked it, or is needed to open it`(
    isLocked: Bool, reopens: Bool
  ) async throws {
    let manager = Manager()
    try await withDaemon(
      opening: { count throws(StorageError) in
        #expect(count == 1)
        return memory(isLocked: isLocked, reopens: reopens)
      }, manager: manager
    ) { socket, reopen, _ in
      reopen()
      _ = await manager.statuses(2)
      let storage = UserStorage.remote(socketPath: socket)
      let kept = try await storage.findAll()
      #expect(kept.isEmpty)
    }
  }

  @Test func `is opened again by SIGHUP without a terminal`() async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .exitCode(0)) { [directory = directory as String] in
        var options = try Kistd.parse([]).options { ["HOME": directory][$0] }
        options.socket = directory + "/s"
        let count = Mutex(0)
        let daemon = Daemon(
          options: options,
          open: { _ throws(StorageError) in
            let count = count.withLock {
              $0 += 1
              return $0
            }
            if count < 3 { kill(getpid(), SIGHUP) } else { kill(getpid(), SIGTERM) }
            return memory()
          },
          environment: { _ in nil }, logger: .kistd(level: .critical))
        let signals = try Signals.take(forCommand: false)
        exit(try await untilStopped(daemon, by: signals, hasTerminal: false))
      }
    }
  }
}
