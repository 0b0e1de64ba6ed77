import Glibc
import KistCore
import KistServer
import KistTesting
import KistWire
import Logging
import Testing

@testable import KistDaemon

@Suite struct `The credentials of units` {
  private static let address = Array("0/unit/app.service/dbpass".utf8)
  private static let cgroup = "0::/user@1.service/app.slice/app.service\n"

  /// What the manager reads.
  private func answer(
    uid: uid_t = geteuid(), address: [UInt8] = Self.address, cgroup: String? = Self.cgroup,
    _ load: @escaping @Sendable (LoadRequest) async throws(StorageError) -> Credential
  ) async -> Secret {
    let credentials = UnitCredentials(load: load, logger: .kistd(level: .critical))
    let process = cgroup.map { PeerProcess(cgroup: $0, name: "systemd", evidence: .pidfd) }
    return await credentials.answer(
      Peer(pid: 42, uid: uid, abstractName: address, process: process ?? .gone))
  }

  private func isRefusal(_ answer: Secret) -> Bool {
    answer.count > 1 << 20
      && answer.withBytes { bytes in bytes.indices.allSatisfy { bytes[$0] == 0 } }
  }

  @Test(arguments: [[], [0x61], [0, 0x0A, 0xFF, 0, 0x0A], Array(repeating: 0x7A, count: 524_288)])
  func `are the bytes that are kept under the unit and the name`(bytes: [UInt8]) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let key = CredentialKey(service: "app.service", account: "dbpass")
    _ = try await storage.save(NewCredential(key: key, secret: Secret(copying: bytes)))
    #expect(await answer(storage.load) == Secret(copying: bytes))
  }

  @Test(arguments: [
    StorageError.Code.notFound, .locked, .expired, .unavailable, .corrupt, .timeout,
  ])
  func `that cannot be loaded are more than systemd accepts, all zeros`(
    code: StorageError.Code
  ) async {
    let answer = await answer { _ throws(StorageError) in throw StorageError(code, "no") }
    #expect(isRefusal(answer))
  }

  @Test(
    arguments: [
      (geteuid() + 1, Self.address, Self.cgroup), (geteuid(), [], Self.cgroup),
      (geteuid(), Array("0/unit/other.service/dbpass".utf8), Self.cgroup),
      (geteuid(), Self.address, nil), (geteuid(), Self.address, "0::/user.slice\n"),
      (geteuid(), Self.address, "0::/user@1.service/app.slice/app.service/b.service\n"),
    ] as [(uid_t, [UInt8], String?)])
  func `are refused, and nothing is loaded, where who asks is not the unit`(
    uid: uid_t, address: [UInt8], cgroup: String?
  ) async {
    let answer = await answer(uid: uid, address: address, cgroup: cgroup) {
      _ throws(StorageError) in
      Issue.record("the storage was asked")
      throw StorageError(.notFound, "no")
    }
    #expect(isRefusal(answer))
  }
}
