import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `kistd --accept-rollback` {
  @Test func `opens an older store, says so in the log, and is not needed again`() async throws {
    try await withHome { home in
      let older = try Data(contentsOf: URL(filePath: home.store))
      var options = home.options
      options.progress = .init(directory: home.path + "/.local/state/kist")
      let store = try await EncryptedFile.open(options)
      try await store.credentials.save(.sample(.init(service: "a third")))
      await store.close()
      try older.write(to: URL(filePath: home.store))
      let rekey = try await home.kistd(["rekey"], endsWith: 10).error
      #expect(rekey.contains("it is at change 2, but kistd noted change 3"))
      #expect(try Data(contentsOf: URL(filePath: home.store)) == older)
      let command = ["--", "/bin/true"]
      let refused = try await home.kistd(command, endsWith: 10).error
      #expect(refused.contains("run `kistd --accept-rollback -- kist unlock` once"))
      let accepted = try await home.kistd(["--accept-rollback"] + command, endsWith: 0).error
      #expect(accepted.contains("warning: opened an older store, which --accept-rollback allows"))
      #expect(accepted.contains("it is at change 2, but kistd noted change 3"))
      let again = try await home.kistd(command, endsWith: 0).error
      #expect(!again.contains("older"))
    }
  }
}
