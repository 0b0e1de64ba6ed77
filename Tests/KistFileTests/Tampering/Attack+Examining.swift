import Foundation
import KistCore
import KistFile
import Testing

extension Attack {
  /// Has the attacked store examined and salvaged: what kistd notices is named, nothing is changed, and
  /// no other credential comes out of it than has been in it.
  func isExamined(_ specimen: Specimen, _ scene: Scene, noticed: Bool) async throws {
    let store = try TestStore(in: "/dev/shm")
    try specimen.lay(in: store)
    let key = EncryptedFile.KeySource.keyFile(path: store.keyPath)
    do throws(StorageError) {
      let found = try store.examine()
      #expect(!noticed || !found.faults.isEmpty || found.locked != nil)
    } catch {
      // What an examination does not look into, since it is not of this version.
      #expect(error.code == .unavailable && error.message.contains("format"))
    }
    let path = store.directory("new/credentials.db")
    let salvage = try? EncryptedFile.salvage(
      path: store.path, keySource: key, to: .init(path: path, keySource: key))
    #expect(try store.bytes() == specimen.database)
    guard let salvage else {
      #expect(!FileManager.default.fileExists(atPath: path))
      return
    }
    let new = try await EncryptedFile.open(.init(path: path, keySource: key))
    let copies = try await new.credentials.findAll()
    #expect(copies.count == salvage.copied)
    let known = scene.present.content + scene.older.content + scene.other.content
    for copy in copies {
      let secret = try await new.credentials.load(copy.key).secret
      #expect(known.contains { $0.summary.key == copy.key && $0.secret == secret })
    }
    if salvage.examination.isComplete { #expect(copies.count == specimen.content.count) }
    await new.close()
  }
}
