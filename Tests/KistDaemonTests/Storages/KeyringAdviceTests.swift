import ArgumentParser
import Glibc
import KistCore
import KistTesting
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The hint of a keyring's error` {
  private let toFile = "`kistd --detach --storage encrypted-file`"

  @Test func `names the encrypted file unless credentials are in the keyring`() {
    let locked = StorageError.locked("the keyring is locked").ofKeyring(isPinned: false)
    #expect(locked.hint?.hasPrefix("unlock it with `kist unlock`") == true)
    #expect(locked.hint?.contains(toFile) == true)
    let unreachable = StorageError(.unavailable, "no bus").ofKeyring(isPinned: false)
    #expect(unreachable.hint?.contains(toFile) == true)
  }

  @Test func `is unchanged for all other errors`() {
    for error in [StorageError.notFound, .timeout(after: .seconds(1)), .wrongPassphrase] {
      for isPinned in [false, true] { #expect(error.ofKeyring(isPinned: isPinned) == error) }
    }
    let locked = StorageError.locked("the keyring is locked")
    #expect(locked.ofKeyring(isPinned: true) == locked)
  }

  #if Libsecret
    @Test(
      arguments: [false, true],
      [
        ("unix:path=/absent", ""),
        ("nonsense", "correct DBUS_SESSION_BUS_ADDRESS"),
      ])
    func
      `is in every answer of an open keyring, and says whether credentials are kept there`(
        isPinned: Bool, bus: (address: String, advice: String)
      ) async throws
    {
      try await withDirectory { home in
        let options = try Kistd.parse(["--storage", "libsecret"])
          .options(environment: { ["HOME": home][$0] })
        if isPinned {
          try PinFile(path: options.pinFile).write(
            Pin(kind: .libsecret, storeID: nil), insteadOf: nil)
        }
        let storage = try await OpenStorage.open(
          StorageContext(
            options: options, environment: { ["DBUS_SESSION_BUS_ADDRESS": bus.address][$0] },
            logger: Logger(label: "test")))
        let requests: [() async throws -> Void] = [
          { _ = try await storage.access.status() }, { _ = try await storage.access.lock() },
          { _ = try await storage.access.unlock(nil) },
          { _ = try await storage.credentials.load(.sample) },
          { _ = try await storage.credentials.save(.sample()) },
          { _ = try await storage.credentials.delete(.sample) },
          { _ = try await storage.credentials.findAll() },
        ]
        for request in requests {
          let error = await #expect(throws: StorageError.self) { try await request() }
          #expect(error?.code == .unavailable)
          #expect(error?.hint?.hasPrefix(bus.advice) == true)
          #expect(error?.hint?.contains("credentials are kept in the keyring") == isPinned)
          #expect(error?.hint?.contains("encrypted") == !isPinned)
        }
        await storage.close()
      }
    }
  #endif
}

@Suite(.timeLimit(.minutes(10))) struct `The name of a keyring's program` {
  @Test func `is whole, although the kernel cuts it after 15 bytes`() throws {
    let program = try #require(CommandLine.arguments[0].split(separator: "/").last)
    try #require(program.utf8.count > 15)
    #expect(programName(of: Int(getpid())) == String(program))
  }

  @Test func `is unknown if the process does not exist`() {
    #expect(programName(of: Int(Int32.max)) == nil)
  }
}
