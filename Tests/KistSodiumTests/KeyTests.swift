import Foundation
import KistCore
import KistSodium
import Testing

@Suite struct `Guarded keys` {
  @Test func `a key is lent while it is read, to several readers at once`() async throws {
    let key = try GuardedKey(copying: [UInt8](0..<32).span)
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            let sum = key.withBytes { outer in key.withBytes { Int($0[31]) + Int(outer[1]) } }
            #expect(sum == 32)
          }
        }
      }
    }
  }

  @Test func `a key cannot be touched between two readings`() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      print(firstByteOutsideOfAReading(of: try GuardedKey.random()))
    }
  }

  @Test func `random keys and bytes differ`() throws {
    let keys = try (0..<2).map { _ in
      try GuardedKey.random().withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }
    #expect(keys[0] != keys[1])
    #expect(randomBytes(24) != randomBytes(24))
    #expect(randomBytes(24).count == 24)
  }

  @Test func `a key that is not filled because of an error is that error`() {
    #expect(throws: StorageError.notFound) {
      try GuardedKey { _ throws(StorageError) in throw .notFound }
    }
  }
}

private func firstByteOutsideOfAReading(of key: GuardedKey) -> UInt8 {
  let address = key.withBytes { bytes in
    unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
  }
  return unsafe UnsafePointer<UInt8>(bitPattern: address)!.pointee
}
