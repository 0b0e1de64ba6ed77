import Foundation
import KistClient
import KistCore
import Subprocess
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
        // Their answers are held back for 1, 2 and 4 seconds, and the next one for 8.
        for _ in 0..<3 {
          let code = await unlock()
          #expect(code == .wrongPassphrase)
        }
        try await withThrowingTaskGroup { group in
          for _ in 0..<2 { group.addTask { await unlock() } }
          #expect(try await group.next() == .busy)
          daemon.send(.terminalClosed)
          // In this time, the other passphrase is tried, and the store is opened again.
          try await Task.sleep(for: .seconds(2))
          let meanwhile = await unlock()
          #expect(meanwhile == .busy)
          #expect(try await group.next() == .wrongPassphrase)
        }
      }
    }
  }
}
