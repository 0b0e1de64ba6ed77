import Foundation
import KistCore
import KistTesting
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `A closed store` {
  let store = try! TestStore()

  @Test func `releases its keys, even while a reference to it exists`() async throws {
    try await store.fill([.sample()])
    let file = try FileStore(
      opening: EncryptedFile.Options(path: store.path, keySource: .keyFile(path: store.keyPath)))
    weak let session = try file.session()
    #expect(try await file.load(LoadRequest(key: .sample)).summary.key == .sample)
    #expect(session != nil)
    await file.close()
    #expect(session == nil)
    #expect(throws: StorageError.self) { try file.session() }
  }

  @Test func `leaves no guarded page and no open file`() async {
    // In a process of its own, in which nothing else has keys.
    await #expect(processExitsWith: .success) {
      let store = try TestStore()
      try await store.fill([.sample()])
      let before = try guardedPages()
      let opened = try await store.open()
      #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
      #expect(try guardedPages() > before)
      #expect(try openFiles(in: store.directory.path).contains(store.path))
      await opened.close()
      #expect(try guardedPages() == before)
      #expect(try openFiles(in: store.directory.path).isEmpty)
      await expect(.unavailable) { try await opened.credentials.load(.sample) }
    }
  }
}

/// How many pages libsodium has made unwritable, as it does with keys (sodium_mprotect_readonly):
/// mappings of one page, of no file.
private func guardedPages() throws -> Int {
  try lines(of: "/proc/self/maps").count { line in
    let fields = line.split(separator: " ")
    return fields.count == 5 && fields[1] == "r--p"
  }
}

private func openFiles(in directory: String) throws -> [String] {
  let links = "/proc/self/fd"
  return try FileManager.default.contentsOfDirectory(atPath: links)
    .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: links + "/" + $0) }
    .filter { $0.hasPrefix(directory) }
}

/// The lines of a file in /proc, which hands them out in pieces.
private func lines(of path: String) throws -> [Substring] {
  let file = try FileHandle(forReadingFrom: URL(filePath: path))
  defer { try? file.close() }
  var text = Data()
  while let piece = try file.read(upToCount: 4096), !piece.isEmpty { text += piece }
  return String(decoding: text, as: UTF8.self).split(separator: "\n")
}
