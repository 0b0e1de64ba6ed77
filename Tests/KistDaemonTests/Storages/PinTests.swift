import Foundation
import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The pin` {
  @Test(arguments: [
    Pin(kind: .libsecret, storeID: nil), Pin(kind: .encryptedFile, storeID: "0a1b"),
    Pin(kind: .encryptedFile, storeID: "0a1b", nextStoreID: "2c"),
  ])
  func `is read as it was written`(pin: Pin) async throws {
    try await withDirectory { directory in
      let file = PinFile(path: directory + "/state/kist/storage")
      #expect(try file.read() == nil)
      try file.write(pin, insteadOf: nil)
      #expect(try file.read() == pin)
      let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      try file.write(Pin(kind: .libsecret, storeID: nil), insteadOf: pin)
      #expect(try file.read() == Pin(kind: .libsecret, storeID: nil))
      let names = try FileManager.default.contentsOfDirectory(atPath: directory + "/state/kist")
      #expect(names == ["storage"])
    }
  }

  @Test func `is not replaced by another first one`() async throws {
    try await withDirectory { directory in
      let file = PinFile(path: directory + "/storage")
      let first = Pin(kind: .libsecret, storeID: nil)
      for _ in 0..<2 { try file.write(first, insteadOf: nil) }
      let error = try #require(
        throws: StorageError.self,
        performing: { try file.write(Pin(kind: .encryptedFile, storeID: "0a"), insteadOf: nil) })
      #expect(error.code == .unavailable)
      #expect(error.message.contains("another kistd"))
      #expect(try file.read() == first)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["storage"])
    }
  }

  @Test func `that does not fit on the disk is full, and leaves the old one`()
    async throws
  {
    try await withDirectory { directory in
      // In a process of its own, because the limit is the whole process's.
      await #expect(processExitsWith: .success) { [directory = directory as String] in
        signal(SIGXFSZ, SIG_IGN)
        let file = PinFile(path: directory + "/storage")
        let old = Pin(kind: .libsecret, storeID: nil)
        try file.write(old, insteadOf: nil)
        // A write stops short there, and says no more than how far it came.
        var limit = rlimit(rlim_cur: 5, rlim_max: 5)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let error = #expect(throws: StorageError.self) {
          try file.write(Pin(kind: .encryptedFile, storeID: "0a"), insteadOf: old)
        }
        #expect(error?.code == .full)
        #expect(error?.message.contains("where credentials are kept") == true)
        #expect(try file.read() == old)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["storage"])
      }
    }
  }

  @Test(arguments: [
    "", "\n", "libsecret\n", "kist-storage-1 libsecret", "kist-storage-2 libsecret\n",
    "kist-storage-1 libsecret 0a\n", "kist-storage-1 encrypted-file\n",
    "kist-storage-1 encrypted-file 0a 0b 0c\n", "kist-storage-1 keychain\n",
    "kist-storage-1 libsecret\nkist-storage-1 libsecret\n",
  ])
  func `with any other text is corrupt, and is not changed`(text: String) async throws {
    try await withDirectory { directory in
      let path = directory + "/storage"
      try Data(text.utf8).write(to: URL(filePath: path))
      let error = try #require(throws: StorageError.self) { try PinFile(path: path).read() }
      #expect(error.code == .corrupt)
      #expect(error.message.contains(path))
      #expect(try Data(contentsOf: URL(filePath: path)) == Data(text.utf8))
    }
  }

  @Test(arguments: [
    (StorageProbe.open(hasCredentials: true, id: "0a"), "0a", nil as String?),
    (.open(hasCredentials: true, id: "0b"), "0b", nil),
    (.open(hasCredentials: true, id: "0c"), "0a", "0b"),
    (.open(hasCredentials: false), "0a", "0b"), (.unusable(.internal("in use")), "0a", "0b"),
  ])
  func `of two stores names the one that exists, if that is known`(
    probe: StorageProbe, storeID: String, nextStoreID: String?
  ) async throws {
    try await withDirectory { directory in
      let file = PinFile(path: directory + "/storage")
      let pin = Pin(kind: .encryptedFile, storeID: "0a", nextStoreID: "0b")
      try file.write(pin, insteadOf: nil)
      let settled = Pin(kind: .encryptedFile, storeID: storeID, nextStoreID: nextStoreID)
      #expect(file.settled(pin, on: probe) == settled)
      #expect(try file.read() == settled)
    }
  }

  @Test func `is set before the first save is answered, and once`() async throws {
    let pins = Atomic(0)
    let storage = UserStorage.inMemory().pinning { _ = pins.wrappingAdd(1, ordering: .relaxed) }
    for _ in 0..<3 {
      try await storage.save(.sample())
      #expect(pins.load(ordering: .relaxed) == 1)
    }
  }

  @Test(arguments: [
    (StorageError.locked("locked").withOutcome(.unchanged), 0),
    (StorageError(.timeout, "timeout").withOutcome(.unknown), 1),
  ])
  func `is set by a save that failed only if it may have been carried out`(
    error: StorageError, expected: Int
  ) async {
    let pins = Atomic(0)
    var storage = UserStorage.unimplemented
    storage.save = { _ throws(StorageError) in throw error }
    storage = storage.pinning { _ = pins.wrappingAdd(1, ordering: .relaxed) }
    await #expect(throws: error) { try await storage.save(.sample()) }
    #expect(pins.load(ordering: .relaxed) == expected)
  }

  @Test func `that cannot be written fails each save until it can be written`() async throws {
    let isFull = Atomic(true)
    let storage = UserStorage.inMemory().pinning { () throws(StorageError) in
      if isFull.load(ordering: .relaxed) {
        throw StorageError(.full, "no space")
      }
    }
    let error = await #expect(throws: StorageError.self) { try await storage.save(.sample()) }
    #expect(error?.outcome == .unknown)
    isFull.store(false, ordering: .relaxed)
    try await storage.save(.sample())
  }
}
