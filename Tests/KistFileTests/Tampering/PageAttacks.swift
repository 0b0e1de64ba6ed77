import Foundation
import GRDB
import KistCore
import Testing

/// What is done to the pages of the database, below SQL (https://sqlite.org/fileformat2.html).
extension Attack {
  static let onPages: [Attack] =
    (0...6).flatMap { (page: Int) -> [Attack] in
      [(0, "at"), (1, "after"), (2048, "in the middle after")].map { offset, place in
        Attack("cut off \(place) page \(page)", .corrupt, .damaged, .unaffected) { scene in
          scene.present.cut(to: page * 4096 + offset)
        }
      } + [
        Attack("zeros in place of page \(page)", .corrupt, .damaged, .unaffected) { scene in
          scene.present.replacing(page, with: Data(count: 4096))
        },
        Attack("page \(page) of an older copy", .corrupt, .damaged, .stale, .unaffected) { scene in
          scene.present.replacing(page, with: scene.older.page(page))
        },
        Attack("page \(page) of another store", .corrupt, .damaged, .unaffected) { scene in
          scene.present.replacing(page, with: scene.other.page(page))
        },
      ]
        + (0...6).map { other in
          Attack("page \(other) in place of page \(page)", .corrupt, .damaged, .unaffected) {
            scene in scene.present.replacing(page, with: scene.present.page(other))
          }
        }
    } + [
      Attack("zeros after the end", .unaffected) { $0.present.appending(Data(count: 4096)) },
      Attack("a page after the end", .unaffected) { $0.present.appending($0.present.page(1)) },
      Attack("a byte after the end", .unaffected) { $0.present.appending(Data([1])) },
      Attack("another store after the end", .unaffected) {
        $0.present.appending($0.other.database)
      },
    ]
    // The first page of the list of free pages, and how many there are (offsets 32 and 36).
    + (1...6).map { page in
      Attack("page \(page) listed as free", .corrupt, .damaged) { scene in
        scene.present.setting(32, to: [0, 0, 0, UInt8(page), 0, 0, 0, 1])
      }
    }
    + [2, 3, 4].flatMap { (page: Int) -> [Attack] in
      [
        Attack("page \(page) in a forged list of free pages", .damaged) { scene in
          // A page that says of one other that it is free, and is the last of its list.
          var forged = Data(count: 4096)
          forged.replaceSubrange(4..<12, with: [0, 0, 0, 1, 0, 0, 0, UInt8(page)])
          let last = scene.present.database.count / 4096 + 1
          return scene.present.appending(forged)
            .setting(28, to: [0, 0, 0, UInt8(last)])
            .setting(32, to: [0, 0, 0, UInt8(last), 0, 0, 0, 2])
        },
        // Where the cells of a page begin, and its first free block (offsets 5 and 1).
        Attack("page \(page) with its cells marked as free space", .corrupt, .damaged) { scene in
          scene.present.setting((page - 1) * 4096 + 5, to: [0x0F, 0xFF])
        },
        Attack("page \(page) with a free block over its cells", .corrupt, .damaged) { scene in
          scene.present.setting((page - 1) * 4096 + 1, to: [0x0E, 0x00])
        },
        Attack("one cell less in page \(page)", .corrupt, .damaged) { scene in
          let offset = (page - 1) * 4096 + 4
          return scene.present.setting(offset, to: [scene.present.database[offset] &- 1])
        },
      ]
    }
    + [
      Attack("inner pages that lead to one leaf 200 times 200 times 200 times 200", .damaged) {
        scene in try scene.present.leadingAstray(from: Int64(1) << 62 - 1000)
      },
      Attack("the same, before all rows", .damaged) { scene in
        try scene.present.leadingAstray(from: -1000)
      },
      Attack("the same, among the rows", .damaged) { scene in
        let middle = try scene.present.value("SELECT max(address) - 300 FROM credential")
        return try scene.present.leadingAstray(from: try #require(Int64.fromDatabaseValue(middle)))
      },
    ]
    // Fields of the file's header: page size, versions, reserved bytes, fractions, encoding, vacuum.
    + [16, 18, 19, 20, 21, 22, 23, 44, 48, 52, 56, 60, 64, 68].flatMap { offset in
      [0, 1, 2, 3, 255].map { value in
        Attack("\(value) at \(offset) of the header", .corrupt, .damaged, .unaffected, .tooNew) {
          scene in scene.present.setting(offset, to: [UInt8(value)])
        }
      }
    }
}

extension Trial.End {
  /// Of a version that may be a later one's.
  static let tooNew = Trial.End.refused(.unavailable)
}

extension Specimen {
  func cut(to size: Int) -> Specimen {
    var copy = self
    copy.database = database.prefix(size)
    return copy
  }

  func appending(_ bytes: Data) -> Specimen {
    var copy = self
    copy.database += bytes
    return copy
  }

  /// A page, the first one 1; of one that is not there, nothing.
  func page(_ number: Int) -> Data {
    let start = (number - 1) * 4096
    return start < 0 || start >= database.count ? Data() : database[start..<start + 4096]
  }

  /// Puts a page in place of one; where there is either not, nothing happens.
  func replacing(_ number: Int, with page: Data) -> Specimen {
    guard !self.page(number).isEmpty, !page.isEmpty else { return self }
    return setting((number - 1) * 4096, to: [UInt8](page))
  }

  /// Puts pages between the table's root and its rows that each lead 200 times to the next.
  fileprivate func leadingAstray(from key: Int64) throws -> Specimen {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'credential'"
    let root = try #require(Int.fromDatabaseValue(try value(sql)))
    var copy = appending(page(root))
    for _ in 0..<3 { copy = copy.appending(.innerPage(to: copy.lastPage, from: key)) }
    let last = copy.lastPage
    return copy.replacing(root, with: .innerPage(to: last, from: key))
      .setting(28, to: [0, 0, UInt8(last >> 8), UInt8(last & 0xFF)])
  }

  private var lastPage: Int { database.count / 4096 }

  func setting(_ offset: Int, to bytes: [UInt8]) -> Specimen {
    var copy = self
    copy.database.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    return copy
  }
}

extension Data {
  /// A page that leads to a child 201 times (https://sqlite.org/fileformat2.html#b_tree_pages), by keys
  /// that begin with one.
  fileprivate static func innerPage(to child: Int, from key: Int64) -> Data {
    var page = Data(count: 4096)
    let number = (0..<4).map { UInt8(truncatingIfNeeded: child >> (24 - 8 * $0)) }
    var end = 4096
    for index in 0..<200 {
      // An integer of nine bytes: seven bits in each of eight, and eight in the last.
      let bits = UInt64(bitPattern: key + Int64(index))
      let varint = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (57 - 7 * $0)) | 0x80 }
      let cell = number + varint + [UInt8(truncatingIfNeeded: bits)]
      end -= cell.count
      page.replaceSubrange(end..<end + cell.count, with: cell)
      page.replaceSubrange(
        12 + 2 * index..<14 + 2 * index, with: [UInt8(end >> 8), UInt8(end & 0xFF)])
    }
    page.replaceSubrange(
      0..<12, with: [5, 0, 0, 0, 200, UInt8(end >> 8), UInt8(end & 0xFF), 0] + number)
    return page
  }
}
