import Foundation
import KistCore
import KistTesting
import Testing

@testable import KistFile

/// The log that a start finds is written again, so that it is on the disk: what SQLite reads of it, and
/// nothing else.
@Suite(.timeLimit(.minutes(10))) struct `A log that is found beside a store` {
  let store = try! TestStore()
  private var key: EncryptedFile.KeySource { .keyFile(path: store.keyPath) }

  /// What a large file of holes begins with.
  enum Beginning: CaseIterable { case nothing, wrongHeader, header, frames }

  @Test(arguments: Beginning.allCases)
  func `is not filled where it is a hole`(beginning: Beginning) async throws {
    let (copy, frames) = try await crashed()
    let log = copy.path + "-wal"
    let file = try FileHandle(forUpdating: URL(filePath: log))
    switch beginning {
    case .nothing: try file.truncate(atOffset: 0)
    case .wrongHeader: try file.write(contentsOf: [0])
    case .header: try file.truncate(atOffset: 32)
    case .frames: break
    }
    try file.truncate(atOffset: 64 << 20)
    try file.close()
    #expect(frames > 0)

    let opened = try await copy.open(key)
    #expect(try allocated(log) < 1 << 20)
    let found = try await opened.credentials.findAll().count
    #expect(found == (beginning == .frames ? 3 : 2))
    try await opened.credentials.save(.sample(.init(service: "new")))
    await opened.close()
    #expect(try copy.names() == ["credentials.db", "credentials.db.lock"])
    let reopened = try await copy.open(key)
    #expect(try await reopened.credentials.findAll().count == found + 1)
    await reopened.close()
  }

  @Test func `is written again up to the first invalid frame`() async throws {
    let (copy, frames) = try await crashed()
    let log = URL(filePath: copy.path + "-wal")
    let bytes = [UInt8](try Data(contentsOf: log))
    #expect(validFrames(of: bytes) == frames)
    #expect(validFrames(of: Array(bytes.dropLast())) == frames - 1)
    for offset in [32, 32 + 8, 32 + 16, 32 + 24, 32 + 4119] {
      for frame in 0..<frames {
        var damaged = bytes
        damaged[offset + frame * 4120] ^= 1
        #expect(validFrames(of: damaged) == frame)
      }
    }
    for offset in 0..<32 {
      var damaged = bytes
      damaged[offset] ^= 1
      #expect(validFrames(of: damaged) == nil, "\(offset)")
    }
    let forged = forgedLog(of: [(1, Data(count: 4096)), (2, Data(count: 4096))], sizeInPages: 2)
    #expect(validFrames(of: [UInt8](forged)) == 2)
  }

  @Test func `is overwritten with the same bytes where it is valid`() async throws {
    let (copy, _) = try await crashed()
    let log = copy.path + "-wal"
    let before = try Data(contentsOf: URL(filePath: log))
    let longAgo = Date(timeIntervalSince1970: 1_000_000_000)
    try FileManager.default.setAttributes([.modificationDate: longAgo], ofItemAtPath: log)
    try rewriteLog(of: copy.path)
    #expect(try Data(contentsOf: URL(filePath: log)) == before)
    let changed =
      try FileManager.default.attributesOfItem(atPath: log)[.modificationDate] as? Date
    #expect(try #require(changed) > longAgo)
  }

  /// What a user puts in the place of a store that a crash left with its log.
  enum Newcomer: CaseIterable { case sameFile, anotherStore }

  @Test(arguments: Newcomer.allCases)
  func `is refused and not changed beside a file that was put there later`(newcomer: Newcomer)
    async throws
  {
    let (copy, _) = try await crashed()
    let (log, file) = (copy.path + "-wal", URL(filePath: copy.path))
    let other = try TestStore()
    try await other.fill([.sample()])
    try (newcomer == .sameFile ? copy : other).bytes().write(to: file)
    try setDate(of: log, 1)
    let before = (try copy.bytes(), try Data(contentsOf: URL(filePath: log)))

    let error = await expect(.unavailable) { try await copy.open(key) }
    #expect(error?.message.contains("the log is from a file that was there before") == true)
    #expect(error?.hint?.contains("mv \(log) \(log).old") == true)
    await expect(.unavailable) { try copy.examine() }
    #expect(EncryptedFile.presence(at: copy.path) == .unreadable(try #require(error)))
    #expect(try copy.bytes() == before.0 && Data(contentsOf: URL(filePath: log)) == before.1)

    guard newcomer == .sameFile else { return }
    // The two remedies of the hint.
    let hour = Date().timeIntervalSince1970 + 3600
    try setDate(of: log, hour)
    let touched = try TestStore()
    try FileManager.default.copyItem(
      atPath: copy.directory("data"), toPath: touched.directory("data"))
    try setDate(of: touched.path + "-wal", hour)
    #expect(try await count(in: touched) == 3)
    try FileManager.default.moveItem(atPath: log, toPath: log + ".old")
    #expect(try await count(in: copy) == 2)
  }

  @Test func `is used beside a newer file that has a part of it, as after a killed merge`()
    async throws
  {
    let (copy, frames) = try await crashed()
    let log = [UInt8](try Data(contentsOf: URL(filePath: copy.path + "-wal")))
    let last = log.dropFirst(32 + (frames - 1) * 4120)
    let number = Int(last.span.bigEndian(at: 0) as UInt32)
    let file = try FileHandle(forUpdating: URL(filePath: copy.path))
    try file.seek(toOffset: UInt64((number - 1) * 4096))
    try file.write(contentsOf: Data(last.dropFirst(24).prefix(4096)))
    try file.close()
    try setDate(of: copy.path + "-wal", 1)
    #expect(try await count(in: copy) == 3)
  }

  @Test(arguments: Plant.allCases)
  func `is refused and not changed if it is not a file of the store alone`(plant: Plant)
    async throws
  {
    try await store.fill([.sample()])
    let before = try store.bytes()
    let (log, other) = (store.path + "-wal", store.directory("other"))
    try Data("other".utf8).write(to: URL(filePath: other))
    try plant.put(at: log, linkedTo: other)
    let number = try fileNumber(log)
    let passphrase = Secret(utf8: "of the backup")
    let backup = EncryptedFile.BackupFile(path: store.path, passphrase: { passphrase })
    for use in [
      { try await store.open() as Any }, { try store.examine() as Any },
      { try EncryptedFile.verify(backup) as Any },
    ] {
      let error = await expect(.denied, from: use)
      #expect(error?.message.contains("the log \(log) \(plant.clause)") == true)
    }
    guard case .unreadable(let error) = EncryptedFile.presence(at: store.path) else {
      Issue.record("the log was not refused")
      return
    }
    #expect(error.code == .denied && error.hint != nil)
    #expect(try fileNumber(log) == number && store.bytes() == before)
    #expect(try Data(contentsOf: URL(filePath: other)) == Data("other".utf8))
  }

  @Test func `is not touched if it is the index that other programs make`() async throws {
    try await store.fill([.sample()])
    let index = store.path + "-shm"
    for plant in [Plant.fifo, .hardLink] {
      let other = store.directory("other")
      try Data("other".utf8).write(to: URL(filePath: other))
      try plant.put(at: index, linkedTo: other)
      let opened = try await store.open()
      try await opened.credentials.save(.sample(secret: "new"))
      await opened.close()
      #expect(FileManager.default.fileExists(atPath: index))
      #expect(try Data(contentsOf: URL(filePath: other)) == Data("other".utf8))
      try FileManager.default.removeItem(atPath: index)
    }
  }

  @Test func `is of a store that is refused if it is a hard link, with its mode unchanged`()
    async throws
  {
    try await store.fill([.sample()])
    let other = store.directory("other")
    try FileManager.default.linkItem(atPath: store.path, toPath: other)
    try #require(unsafe chmod(other, 0o644) == 0)
    let error = await expect(.denied) { try await store.open() }
    #expect(error?.message.contains("the store \(store.path) is a hard link") == true)
    #expect(try mode(of: other) == 0o644)
    try FileManager.default.removeItem(atPath: other)
    #expect(try await store.isOpened(by: key))
  }

  @Test func `is not emptied where it has the name of an unfinished store`() async throws {
    let other = store.directory("other")
    try prepareDirectory(of: store.path)
    try Data("other".utf8).write(to: URL(filePath: other))
    try FileManager.default.linkItem(atPath: other, toPath: store.path + ".new-ab")
    await expect(.denied) { try UnfinishedStore(path: store.path + ".new-ab").begin() }
    #expect(try Data(contentsOf: URL(filePath: other)) == Data("other".utf8))
  }

  /// A store as a crash leaves it, with two credentials in the database and another one in the log; and how
  /// many frames the log has.
  private func crashed() async throws -> (TestStore, frames: Int) {
    try await store.fill(Array(threeCredentials.prefix(2)))
    let opened = try await store.open()
    try await opened.credentials.save(threeCredentials[2])
    let copy = try TestStore()
    try FileManager.default.copyItem(
      atPath: store.directory("data"), toPath: copy.directory("data"))
    await opened.close()
    return (copy, (try Data(contentsOf: URL(filePath: copy.path + "-wal")).count - 32) / 4120)
  }

  private func count(in store: TestStore) async throws -> Int {
    let opened = try await store.open(key)
    let count = try await opened.credentials.findAll().count
    await opened.close()
    return count
  }

  private func setDate(of path: String, _ seconds: Double) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: path)
  }

  private func validFrames(of log: [UInt8]) -> Int? {
    guard var frames = LogFrames(header: log.span.extracting(first: 32)) else { return nil }
    var count = 0
    var offset = 32
    while offset + frames.frameSize <= log.count,
      frames.accept(log.span.extracting(offset..<offset + frames.frameSize))
    {
      count += 1
      offset += frames.frameSize
    }
    return count
  }

  /// Bytes that a file takes on the disk.
  private func allocated(_ path: String) throws -> Int {
    var status = stat()
    try #require(unsafe stat(path, &status) == 0)
    return Int(status.st_blocks) * 512
  }
}
