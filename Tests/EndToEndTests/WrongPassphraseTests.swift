import Foundation
import KistClient
import KistCore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A wrong passphrase` {
  @Test func `delays the next one until it is answered, also after a reload`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(.init(key: .init(service: "s"), secret: Secret(utf8: "x")))
        let key = Secret(copying: try Data(contentsOf: URL(filePath: home.keyFile)))
        let right = KeySlotAddition(passphrase: Secret(utf8: "right horse"), currentKey: key)
        _ = try await KeySlots.remote(socketPath: home.socket).add(right)
        @Sendable func unlock() async -> StorageError.Code? {
          do throws(StorageError) {
            let access = StorageAccess.remote(socketPath: home.socket)
            _ = try await access.unlock(Secret(utf8: "wrong horse"))
            return nil
          } catch { return error.code }
        }
        var wasHeldBack = false
        // The answers are held back for 1, 2, 4, 8 and 16 seconds.
        for _ in 0..<5 where !wasHeldBack {
          let isAnswered = Mutex(false)
          async let first: Void = {
            _ = await unlock()
            isAnswered.withLock { $0 = true }
          }()
          while await unlock() != .busy {}
          daemon.send(.terminalClosed)
          try await Task.sleep(for: .milliseconds(300))
          let code = await unlock()
          if !isAnswered.withLock(\.self) {
            wasHeldBack = true
            #expect(code == .busy)
          }
          await first
        }
        #expect(wasHeldBack)
      }
    }
  }
}
