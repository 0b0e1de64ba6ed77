import Foundation
import KistCore
import KistTesting
import Subprocess
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `A file that may not grow` {
  @Test func `fails a save, which changes nothing, and the next one succeeds when it may again`()
    async
  {
    // In a process of its own, because the limit is the whole process's.
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      let store = try TestStore()
      let opened = try await store.open()
      let saved = try await opened.credentials.save(.sample())
      limitFileSize(to: 100_000)
      let large = Secret(copying: [UInt8](repeating: 7, count: 200_000))
      let error = await expect(.unavailable) {
        try await opened.credentials.save(NewCredential(key: .sample, secret: large))
      }
      #expect(error?.outcome == .unchanged)
      #expect(try await opened.credentials.load(.sample).summary == saved)
      limitFileSize(to: rlim_t.max)
      try await opened.credentials.save(NewCredential(key: .sample, secret: large))
      #expect(try await opened.credentials.load(.sample).secret == large)
      await opened.close()
    }
  }

  @Test func `that is also away is not written, and accepts a save when it is back`() async {
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      let store = try TestStore()
      let opened = try await store.open()
      let saved = try await opened.credentials.save(.sample())
      let (directory, elsewhere) = (store.directory("data"), store.directory("elsewhere"))
      try FileManager.default.moveItem(atPath: directory, toPath: elsewhere)
      limitFileSize(to: 100_000)
      let large = Secret(copying: [UInt8](repeating: 7, count: 200_000))
      let error = await expect(.unavailable) {
        try await opened.credentials.save(NewCredential(key: .sample, secret: large))
      }
      #expect(error?.outcome == .unchanged)
      #expect(try await opened.credentials.load(.sample).summary == saved)
      limitFileSize(to: rlim_t.max)
      try FileManager.default.moveItem(atPath: elsewhere, toPath: directory)
      #expect(try await opened.credentials.load(.sample).summary == saved)
      try await opened.credentials.save(NewCredential(key: .sample, secret: large))
      #expect(try await opened.credentials.load(.sample).secret == large)
      await opened.close()
    }
  }
}

private func limitFileSize(to size: rlim_t) {
  var limit = rlimit(rlim_cur: size, rlim_max: rlim_t.max)
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
}

/// Makes a file that takes all the space that there is.
private func fillDisk(_ path: String) {
  let file = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
  defer { close(file) }
  let page = [UInt8](repeating: 7, count: 4096)
  while unsafe write(file, page, page.count) > 0 {}
  #expect(errno == ENOSPC)
}

/// File systems that truly fail; to mount them takes root.
@Suite(.needsRoot("to mount a file system"), .timeLimit(.minutes(10)))
struct `A disk that fails` {
  let store = try! TestStore()

  @Test func `that is read-only is a clear error, and the credentials stay`() async throws {
    try await store.fill([.sample()])
    let before = try store.bytes()
    let directory = store.directory("data")
    try await mount("--bind", "-o", "ro", directory, directory)
    let error = await expect(.unavailable) { try await store.open() }
    #expect(error?.message.contains("Read-only") == true)
    #expect(error?.hint != nil)
    #expect(try store.bytes() == before)
    try await unmount(directory)
    await (try store.open()).close()
  }

  @Test func `that lets the file be read only gives no connection for changes`() async throws {
    try await store.fill([.sample()])
    try await mount("--bind", "-o", "ro", store.path, store.path)
    let connection = Connection(path: store.path, readonly: false, cacheKibibytes: 64)
    await expect(.unavailable) { try connection.open() }
    try await unmount(store.path)
    try connection.open()
    connection.close()
  }

  @Test
  func `that is full answers full, keeps the credentials, and is used again when there is space`()
    async throws
  {
    let directory = store.directory("data")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try await mount("-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", directory)
    let opened = try await store.open()
    var saved: [CredentialKey: CredentialSummary] = [:]
    var failure: StorageError?
    let secret = Secret(copying: [UInt8](repeating: 7, count: 20_000))
    for number in 0..<100 where failure == nil {
      let key = CredentialKey(service: "service", account: String(number))
      do throws(StorageError) {
        saved[key] = try await opened.credentials.save(NewCredential(key: key, secret: secret))
      } catch {
        failure = error
      }
    }
    #expect(failure?.code == .full)
    #expect(failure?.outcome == .unchanged)
    for (key, summary) in saved {
      #expect(
        try await opened.credentials.load(key) == Credential(summary: summary, secret: secret))
    }
    #expect(try await opened.access.status().count == saved.count)

    try await mount("-o", "remount,size=4m", directory)
    let key = CredentialKey(service: "room again")
    let revision = try await opened.credentials.save(NewCredential(key: key, secret: secret))
      .revision
    #expect(!saved.values.map(\.revision).contains(revision))
    await opened.close()
    let reopened = try await store.open()
    #expect(try await reopened.credentials.findAll().count == saved.count + 1)
    await reopened.close()
    try await unmount(directory)
  }

  @Test func `that is full lets a store be opened, even for the first time`() async throws {
    let directory = store.directory("data")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try await mount("-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", directory)
    try await store.fill([.sample()])
    // What was removed takes room for as long as a program that another test starts has it open.
    var wasFull = false
    for _ in 0..<10 where !wasFull {
      try FileManager.default.removeItem(atPath: store.path + ".lock")
      fillDisk(directory + "/other")
      #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
      wasFull = try Data(contentsOf: URL(filePath: store.path + ".lock")).isEmpty
    }
    #expect(wasFull)
    try await unmount(directory)
  }

  private func mount(_ arguments: String...) async throws {
    try await run("mount", arguments)
  }

  private func unmount(_ path: String) async throws { try await run("umount", [path]) }

  private func run(_ command: String, _ arguments: [String]) async throws {
    let result = try await Subprocess.run(
      .name(command), arguments: Arguments(arguments), output: .discarded)
    #expect(result.terminationStatus.isSuccess, "\(command) \(arguments)")
  }
}
