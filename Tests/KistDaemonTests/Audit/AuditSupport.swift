import Foundation
import KistCore
import KistFile
import KistServer
import KistTesting
import KistWire
import Logging
import Synchronization
import Testing

@testable import KistDaemon

/// An audit log in a directory of its own.
struct TestLog: Sendable {
  let directory: String
  let recorder = RecordingLog()

  var path: String { directory + "/state/audit.jsonl" }

  /// Opens the log; nothing is written by itself before the end of a test.
  func open(limit: Int = 1 << 20, delay: Duration = .seconds(3600), room: Int = 8192) -> AuditLog {
    AuditLog(
      AuditFile(path: path, limit: limit), delay: delay, room: room,
      logger: Logger(label: "test") { [recorder] _ in recorder })
  }

  /// The lines of the file.
  func lines() throws -> [String] {
    try text(of: path).split(separator: "\n").map(String.init)
  }
}

/// Lends a log for the length of a test.
func withLog(_ body: nonisolated(nonsending) (TestLog) async throws -> Void) async throws {
  try await withDirectory { try await body(TestLog(directory: $0)) }
}

extension Peer {
  /// A process of this user, in a unit.
  static let sample = Peer(
    pid: 42, uid: geteuid(),
    process: PeerProcess(
      cgroup: "0::/user.slice/app.service\n", name: "psql", evidence: .pidfd))
}

extension AuditFile {
  /// Appends a block of one line, without a chain.
  func append(_ line: String) throws(StorageError) {
    var block = AuditBlock()
    block.append(Array(line.utf8).span, sealed: [UInt8]().span)
    var chain = AuditChain(mark: mark)
    try append(&block, to: &chain, under: nil)
  }
}

extension AuditLog {
  func lookup(_ seal: NameSeal?) -> AuditLookup { access(seal).find }

  /// Leaves a line of a load, whose account is a number.
  func put(_ number: Int, of peer: Peer = .sample, failure: StorageError.Code? = nil) {
    put(
      "load", of: peer, RequestedNames(service: "example.org", account: "\(number)"),
      failure: failure)
  }
}

extension AuditRecord {
  var request: AuditedRequest? {
    if case .request(let request) = event { request } else { nil }
  }

  /// The account that it names, where that is a number.
  var number: Int? {
    guard case .open(let names)? = request?.names else { return nil }
    return names.account.flatMap { Int($0) }
  }
}

/// Seals names so that a test can read them, bound to the line.
let testSeal = NameSeal(
  begin: {
    { names, text, sealed in
      sealed.append(utf8: "\(names.service ?? "-")/\(names.account ?? "-")/\(text.count)")
    }
  },
  open: { sealed, text throws(StorageError) in
    let parts = String(decoding: sealed.indices.map { sealed[$0] }, as: UTF8.self)
      .split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2] == "\(text.count)" else {
      throw StorageError(.corrupt, "bound to something else")
    }
    return RequestedNames(
      service: parts[0] == "-" ? nil : String(parts[0]),
      account: parts[1] == "-" ? nil : String(parts[1]))
  })

/// Remembers what was logged.
final class RecordingLog: LogHandler, Sendable {
  private let recorded = Mutex<[String]>([])

  var lines: [String] { recorded.withLock { $0 } }

  subscript(metadataKey _: String) -> Logger.MetadataValue? {
    get { nil }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }

  func log(event: LogEvent) {
    recorded.withLock { $0.append("\(event.level): \(event.message) \(event.metadata ?? [:])") }
  }
}

extension TestLog {
  /// Appends to the file as another program would.
  func append(_ text: String) throws {
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  /// Writes other lines into the file, which stays the same file.
  func replace(_ lines: [String], endingWith end: String = "\n") throws {
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: Data((lines.joined(separator: "\n") + end).utf8))
    try file.close()
  }

  /// An encrypted file beside the log.
  func store(_ name: String = "data") async throws -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: directory + "/\(name)/credentials.db",
        keySource: .keyFile(path: directory + "/key")))
  }

  /// The link in the mark; `nil` if it is not valid under the key of the storage.
  func marked(_ storage: OpenStorage) -> AuditChain.Head? {
    ChainHash(storage.nameSeal).flatMap { AuditMark(path: path + ".mark").read(under: $0) }
  }

  /// Writes ten lines: 4 to 7 at once.
  func fill(_ audit: AuditLog) async {
    for number in 1...10 {
      if number == 5 { audit.put("status", of: .sample, failure: nil) } else { audit.put(number) }
      if !(4...6).contains(number) { await audit.flush() }
    }
  }

  /// Writes requests until kistd renames the file and begins a new one.
  func fillOlderFile(_ audit: AuditLog) async throws {
    var number = 100
    while mode(of: path + ".1") == nil {
      for _ in 0..<20 {
        audit.put(number)
        number += 1
      }
      await audit.flush()
    }
  }
}
