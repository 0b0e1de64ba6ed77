#if SecretService
  import KistCore
  import KistSecretService
  import KistTesting
  import Synchronization

  /// A storage with one credential that can be locked.
  final class Lockable: Sendable {
    static let passphrase = "battery staple"
    let isLocked = Atomic(true)
    /// Why no passphrase opens it.
    let problem = Mutex<StorageError?>(nil)
    private let unlocking: StorageStatus.Unlocking
    private let storage = OpenStorage.inMemory()

    init(unlocksWith unlocking: StorageStatus.Unlocking = .passphrase) {
      self.unlocking = unlocking
    }

    func functions(asking: Asking = .nobody) -> SecretService.Functions {
      let credentials = storage.credentials
      let storage = UserStorage(
        save: { [self] request throws(StorageError) in
          try check()
          return try await credentials.save(request)
        },
        load: { [self] request throws(StorageError) in
          try check()
          return try await credentials.load(request)
        },
        delete: { [self] request throws(StorageError) in
          try check()
          return try await credentials.delete(request)
        },
        find: { [self] query throws(StorageError) in
          if try await credentials.findAll().isEmpty { try await credentials.save(.sample()) }
          try check()
          return try await credentials.find(query)
        })
      let access = StorageAccess(
        status: { [self] in status() },
        lock: { [self] in
          isLocked.store(true, ordering: .relaxed)
          return status()
        },
        unlock: { [self] passphrase throws(StorageError) in
          guard unlocking == .keyFile || passphrase == Secret(utf8: Self.passphrase) else {
            throw .wrongPassphrase
          }
          isLocked.store(false, ordering: .relaxed)
          return status()
        })
      return SecretService.Functions(
        storage: storage, access: access, watch: self.storage.watch, asking: asking)
    }

    /// Returns functions that can hold the reading of all items, after it got them.
    func readingSlowly() -> (
      functions: SecretService.Functions, reading: (isHeld: Flag, isReached: Flag),
      release: @Sendable () -> Void
    ) {
      var functions = functions()
      let find = functions.storage.find
      let (isHeld, isReached) = (Flag(false), Flag(false))
      let (stuck, release) = AsyncStream.makeStream(of: Void.self)
      functions.storage.find = { query throws(StorageError) in
        let found = try await find(query)
        if isHeld.value, query.service == nil {
          isReached.value = true
          for await _ in stuck {}
        }
        return found
      }
      return (functions, (isHeld, isReached), { release.finish() })
    }

    private func check() throws(StorageError) {
      if isLocked.load(ordering: .relaxed) { throw .locked("the storage is locked") }
    }

    private func status() -> StorageStatus {
      StorageStatus(
        storage: "memory", isLocked: isLocked.load(ordering: .relaxed), unlocksWith: unlocking,
        reopensAtRestart: false, durability: .memory, keyProtection: "none",
        problem: problem.withLock { $0 })
    }
  }
#endif
