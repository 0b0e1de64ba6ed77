import Foundation
import KistCore
import KistSodium
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Guarded keys` {
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

  @Test(arguments: [(0, false), (4096, true)] as [(rlim_t, Bool)])
  func `a key says whether the system keeps it in RAM`(limit: rlim_t, isInRAM: Bool) async {
    await #expect(processExitsWith: .success) {
      [limit = limit as rlim_t, isInRAM = isInRAM as Bool] in
      let master = try GuardedKey.random()
      // Root may lock as much as it likes.
      if getuid() == 0, setuid(65534) != 0 { exit(1) }
      munlockall()
      var limit = rlimit(rlim_cur: limit, rlim_max: limit)
      unsafe setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
      let key = try SymmetricKey(derivedFrom: master, id: 1, context: "kistTEST")
      if key.isInRAM != isInRAM { exit(2) }
    }
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
