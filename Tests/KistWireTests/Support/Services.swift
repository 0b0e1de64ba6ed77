import KistCore
import KistTesting
import Synchronization

@testable import KistWire

/// Answers as an open storage in memory would.
extension StorageAccess {
  static let stub = StorageAccess(
    status: { () throws(StorageError) in .stub },
    lock: { () throws(StorageError) in .stub },
    unlock: { _ throws(StorageError) in .stub })
}

extension StorageStatus {
  static let stub = StorageStatus(
    storage: "memory", isLocked: false, reopensAtRestart: false, durability: .memory,
    keyProtection: "there is no key", keysInRAM: false, integrity: .ok,
    problem: StorageError(.denied, "changed"), count: 2, uptime: 60)
}

extension Hello {
  static let stub = Hello(version: "1.0.0", durability: .memory)
}

/// Everything that kistd serves, without a socket.
func service(
  _ credentials: UserStorage = .unimplemented, _ access: StorageAccess = .stub,
  watch: WatchCredentials = .none, registerStream: @escaping RegisterStream = { _ in }
) -> Exchange {
  service(
    Endpoints(credentials, access, watch: watch, hello: { () throws(StorageError) in .stub }),
    registerStream: registerStream)
}

func service(
  _ endpoints: Endpoints, registerStream: @escaping RegisterStream = { _ in }
) -> Exchange {
  let dispatch = dispatch(endpoints)
  return { request throws(StorageError) in
    var note = RequestNotes.Note()
    return try await dispatch(request, registerStream)(request, &note)
  }
}

extension WatchCredentials {
  /// What watches a storage behind lines.
  static func behindLines(_ watch: WatchCredentials) -> WatchCredentials {
    .remote { line throws(StorageError) in
      let stream = Mutex<NextLine?>(nil)
      let answer = answer(with: service(watch: watch) { next in stream.withLock { $0 = next } })
      let reply = await answer(line)
      let nothing: NextLine = { () throws(StorageError) in nil }
      return (reply, stream.withLock { $0 } ?? nothing)
    }
  }
}

/// The server's edge before one function for all operations.
func answer(with exchange: @escaping Exchange) -> @Sendable (Line) async -> Line {
  answer(with: { _, _ in { request, _ throws(StorageError) in try await exchange(request) } })
}

extension Endpoints {
  /// The endpoints of an open storage that answers as the stub does.
  static func stub(_ credentials: UserStorage) -> Endpoints {
    Endpoints(credentials, .stub, watch: .none, hello: { () throws(StorageError) in .stub })
  }
}

extension UserStorage {
  /// A storage in memory behind a number of servers, the first of which passes lines on from the
  /// second and so on; 0 is messages without lines.
  static func inMemory(behind servers: Int, now: @escaping @Sendable () -> Timestamp) -> Self {
    var exchange = service(.inMemory(now: now))
    for _ in 0..<servers {
      let answer = answer(with: exchange)
      exchange = KistWire.exchange { line throws(StorageError) in await answer(line) }
    }
    return Endpoints.remote(over: exchange).credentials
  }
}
