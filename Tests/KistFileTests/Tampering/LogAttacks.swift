import Foundation
import KistCore
import Testing

extension Attack {
  /// What is put beside a store that was closed, and so has no log.
  static let beside: [Attack] =
    [
      Attack("a log of nonsense", .unaffected) {
        $0.present.with(Data(repeating: 0x41, count: 9000))
      },
      Attack("an empty log", .unaffected) { $0.present.with(Data()) },
      Attack("a database for a log", .unaffected) { $0.present.with($0.present.database) },
      Attack("an index of the log", .unaffected) {
        $0.present.with(Data(repeating: 0x41, count: 32768), as: "-shm")
      },
      Attack("an empty rollback journal", .corrupt) { $0.present.with(Data(), as: "-journal") },
      Attack("a rollback journal", .corrupt) { scene in
        scene.present.with(Data(repeating: 0xD9, count: 9000), as: "-journal")
      },
      Attack("a forged log of the same pages", .unaffected) { scene in
        scene.present.with(scene.present.asLog())
      },
      Attack("a forged log that cuts off pages", .corrupt, .damaged) { scene in
        scene.present.with(
          forgedLog(of: [(1, scene.present.page(1))], sizeInPages: 2))
      },
      // Where the version and the application's id are in the first page of a database.
      Attack("a forged log of a newer version", .refused(.unavailable)) {
        $0.withLog(saying: [0, 0, 0, 2], at: 60)
      },
      Attack("a forged log of an impossible version", .corrupt) {
        $0.withLog(saying: [0, 0, 0, 0], at: 60)
      },
      Attack("a forged log of another program", .corrupt) {
        $0.withLog(saying: [0, 0, 0, 7], at: 68)
      },
    ]
    + (1...5).flatMap { page in
      [
        Attack("a forged log of zeros for page \(page)", .corrupt, .damaged, .unaffected) {
          $0.present.with(forgedLog(of: [(page, Data(count: 4096))], sizeInPages: $0.pages))
        },
        Attack("a forged log of an older page \(page)", .corrupt, .damaged, .stale, .unaffected) {
          $0.present.with(forgedLog(of: [(page, $0.older.page(page))], sizeInPages: $0.pages))
        },
        Attack("a forged log of another store's page \(page)", .corrupt, .damaged, .unaffected) {
          $0.present.with(forgedLog(of: [(page, $0.other.page(page))], sizeInPages: $0.pages))
        },
      ]
    }
}

extension Scene {
  fileprivate var pages: Int { present.database.count / 4096 }

  /// The store with a log of its first page, which has other bytes at a place.
  fileprivate func withLog(saying bytes: [UInt8], at offset: Int) -> Specimen {
    var page = [UInt8](present.page(1))
    page.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    return present.with(forgedLog(of: [(1, Data(page))], sizeInPages: pages))
  }
}

extension Specimen {
  /// Puts a file beside the store.
  func with(_ bytes: Data, as suffix: String = "-wal") -> Specimen {
    var copy = self
    copy.beside[suffix] = bytes
    return copy
  }

  /// All pages as a log.
  func asLog() -> Data {
    let count = database.count / 4096
    return forgedLog(of: (1...count).map { ($0, page($0)) }, sizeInPages: count)
  }
}
