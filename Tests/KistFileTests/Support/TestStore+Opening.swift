import KistCore
import KistFile
import KistTesting
import Testing

extension TestStore {
  /// Opens it with two credentials: of one all is said that can be, and it was saved twice; of the other
  /// nothing.
  func openWithAllThatCanBeSaid() async throws -> OpenStorage {
    let full = NewCredential.sample(
      label: "a label", attributes: ["kind": "token"],
      expiresAt: Timestamp(secondsSinceEpoch: 4_000_000_000))
    try await fill([full])
    clock.advance(bySeconds: 60)
    let opened = try await open()
    try await opened.credentials.save(full)
    try await opened.credentials.save(.sample(.init(service: "another"), secret: ""))
    return opened
  }

  /// Whether a store that nobody uses opens with a key, and has all that it should.
  func isOpened(by source: EncryptedFile.KeySource) async throws -> Bool {
    let storage: OpenStorage
    do { storage = try await open(source) } catch {
      #expect(error.code == .wrongPassphrase)
      return false
    }
    let status = try await storage.access.status()
    if !status.isLocked {
      #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
      #expect(try await storage.credentials.findAll().count == status.count)
    }
    await storage.close()
    return !status.isLocked
  }
}
