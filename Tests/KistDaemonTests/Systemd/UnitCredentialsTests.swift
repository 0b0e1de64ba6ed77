import Glibc
import KistCore
import KistServer
import KistTesting
import KistWire
import Logging
import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The credentials of units` {
  private static let address = Array("0/unit/app.service/dbpass".utf8)
  private static let manager = "0::/user.slice/user@\(geteuid()).service"
  private static let cgroup = manager + "/app.slice/app.service\n"

  /// What the manager reads.
  private func answer(
    _ load: @escaping @Sendable (LoadRequest) async throws(StorageError) -> Credential
  ) async throws -> Secret {
    let credentials = UnitCredentials(
      load: { request, _ throws(StorageError) in try await load(request) },
      logger: .kistd(level: .critical))
    let answer = try #require(credentials.answer(.of(address: Self.address, cgroup: Self.cgroup)))
    #expect(answer.group == "app.service")
    return await answer.bytes()
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
    #expect(try await answer(storage.load) == Secret(copying: bytes))
  }

  @Test(arguments: [
    StorageError.Code.notFound, .locked, .expired, .unavailable, .corrupt, .timeout,
  ])
  func `that cannot be loaded are more than systemd accepts, all zeros`(
    code: StorageError.Code
  ) async throws {
    let answer = try await answer { _ throws(StorageError) in throw StorageError(code, "no") }
    #expect(isRefusal(answer))
  }

  private static let elsewhere: [String] = [
    "0::/user.slice\n", "0::/\n", "\(manager)/app.slice/other.service\n",
    "\(manager)/app.slice/other.service/app.service\n",
    "\(manager)/app.slice/podman.scope/user@\(geteuid()).service/app.service\n",
    "\(manager)/app.slice/group/app.service\n", "0::/system.slice/app.service\n",
    "0::/user.slice/user@\(geteuid() + 1).service/app.slice/app.service\n",
  ]

  @Test(
    arguments: [(geteuid() + 1, cgroup), (geteuid(), nil)]
      + elsewhere.map { (geteuid(), $0) } as [(uid_t, String?)])
  func `are refused, and nothing is loaded, where the client is not in the unit`(
    uid: uid_t, cgroup: String?
  ) async throws {
    let credentials = UnitCredentials(load: Self.trap, logger: .kistd(level: .critical))
    let answer = try #require(
      credentials.answer(.of(uid: uid, address: Self.address, cgroup: cgroup)))
    #expect(answer.group == nil)
    #expect(await isRefusal(answer.bytes()))
  }

  @Test(arguments: ["", "0/units/app.service/dbpass", "kist"])
  func `are refused at once to a client at an address that systemd does not use`(address: String) {
    let credentials = UnitCredentials(load: Self.trap, logger: .kistd(level: .critical))
    let peer = Peer.of(address: Array(address.utf8), cgroup: Self.cgroup)
    #expect(credentials.answer(peer) == nil)
  }

  @Test func `are logged once in ten seconds for each unit, however many are refused`() async throws
  {
    let log = RecordingLog()
    let credentials = UnitCredentials(
      load: { _, _ throws(StorageError) in throw .notFound },
      logger: Logger(label: "test") { _ in log })
    let peers = ["app", "other"].map { unit in
      Peer.of(
        address: Array("0/unit/\(unit).service/dbpass".utf8),
        cgroup: Self.manager + "/app.slice/\(unit).service\n")
    }
    for _ in 0..<100 {
      _ = credentials.answer(.of(address: [], cgroup: Self.cgroup))
      _ = credentials.answer(.of(address: Self.address, cgroup: "0::/user.slice\n"))
      for peer in peers { _ = await credentials.answer(peer)?.bytes() }
    }
    // Of a hundred units, those beyond the first share a gate.
    for number in 0..<100 {
      let unit = "many\(number).service"
      let peer = Peer.of(
        address: Array("0/unit/\(unit)/dbpass".utf8), cgroup: Self.manager + "/\(unit)\n")
      _ = await credentials.answer(peer)?.bytes()
    }
    #expect(log.lines.count { $0.contains("app.service") } == 1)
    #expect(log.lines.count { $0.contains("other.service") } == 1)
    #expect(log.lines.count <= 64)
  }

  @Test(arguments: [true, false]) func `count as use of the storage`(exists: Bool) async throws {
    let storage = OpenStorage.inMemory(now: { .sample })
    if exists {
      let key = CredentialKey(service: "app.service", account: "dbpass")
      _ = try await storage.credentials.save(NewCredential(key: key, secret: Secret(utf8: "s")))
    }
    let time = Mutex(Duration.zero)
    let quiet = QuietWatch(
      after: .seconds(5),
      now: { SystemTick(nanoseconds: Int64(time.withLock(\.self) / .nanoseconds(1))) },
      sleep: { duration in time.withLock { $0 += duration } }, whenQuiet: {})
    let handlers = RequestHandlers(
      storage: Replaceable(await StorageHandler(.success(storage), nil)), audit: nil, quiet: quiet,
      unavailable: nil, holdBack: { _ in })
    time.withLock { $0 += .seconds(60) }
    #expect(quiet.isQuiet(for: .seconds(30)))
    let credentials = handlers.unitCredentials(logger: .kistd(level: .critical))
    let answer = try #require(credentials.answer(.of(address: Self.address, cgroup: Self.cgroup)))
    #expect(quiet.isQuiet(for: .seconds(30)), "nothing is loaded yet")
    #expect(await isRefusal(answer.bytes()) != exists)
    #expect(!quiet.isQuiet(for: .seconds(30)))
  }

  private static let trap: @Sendable (LoadRequest, Peer) async throws(StorageError) -> Credential =
    {
      _, _ throws(StorageError) in
      Issue.record("the storage was asked")
      throw .notFound
    }
}

extension Peer {
  /// A process in a control group, or one that has ended.
  fileprivate static func of(
    uid: uid_t = geteuid(), address: [UInt8], cgroup: String?
  ) -> Peer {
    let process = cgroup.map { PeerProcess(cgroup: $0, name: "systemd", evidence: .pidfd) }
    return Peer(pid: 42, uid: uid, abstractName: address, process: process ?? .gone)
  }
}
