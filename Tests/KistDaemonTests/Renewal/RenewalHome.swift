import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

/// A home in which credentials are kept in the encrypted file, or will be.
struct RenewalHome: Sendable {
  let path: String
  /// The id of the store that is there.
  var id: String?

  var store: String { path + "/.local/share/kist/credentials.db" }
  var key: String { path + "/.local/state/kist/key" }
  var pin: PinFile { PinFile(path: path + "/.local/state/kist/storage") }
  var options: EncryptedFile.Options {
    EncryptedFile.Options(path: store, keySource: .keyFile(path: key))
  }

  /// Runs kistd in a process of its own, with what there is to read from each descriptor, or the path of a
  /// file to open for it.
  func kistd(
    _ words: [String], _ descriptors: [CInt: String] = [:], opening files: [CInt: String] = [:],
    endsWith status: CInt
  ) async throws -> (output: String, error: String) {
    let end = await #expect(
      processExitsWith: .exitCode(status),
      observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      [
        words = words as [String], descriptors = descriptors as [CInt: String],
        files = files as [CInt: String],
        path = path as String
      ] in
      for (number, text) in descriptors {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        dup2(pipe.fileHandleForReading.fileDescriptor, number)
      }
      for (number, path) in files {
        let file = unsafe open(path, O_RDONLY)
        dup2(file, number)
        close(file)
      }
      await runKistd(words, home: path)
    }
    let result = try #require(end)
    return (
      String(decoding: result.standardOutputContent, as: UTF8.self),
      String(decoding: result.standardErrorContent, as: UTF8.self)
    )
  }
}

/// Lends a home with a store of two credentials, which is written down as the one in use.
func withHome(
  _ body: nonisolated(nonsending) (RenewalHome) async throws -> Void
) async throws {
  try await withDirectory { path in
    var home = RenewalHome(path: path)
    let file = try await EncryptedFile.open(home.options)
    try await file.credentials.save(.sample())
    try await file.credentials.save(.sample(.init(service: "another")))
    await file.close()
    home.id = file.id
    try home.pin.write(Pin(kind: .encryptedFile, storeID: file.id), insteadOf: nil)
    try await body(home)
  }
}
