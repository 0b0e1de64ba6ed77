import KistCore
import KistFile
import KistTesting
import Testing

extension TestStore {
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
