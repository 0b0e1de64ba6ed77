import Foundation
import Synchronization

/// A proxy between one client and a private bus, which sees the calls of the client and can stop it
/// anywhere.
package final class BusProxy: Sendable {
  /// A moment among the calls of the client, the first of which is number 1.
  package enum Moment: Sendable, Hashable {
    /// The client made the call, and the proxy did not forward it.
    case before(call: Int)
    /// The call was performed, and the proxy forwarded neither its reply nor later calls.
    case after(call: Int)
    /// The same, for the first call with this name.
    case afterFirst(String)
  }

  private struct State {
    var calls: [String] = []
    var interruption: (moment: Moment, action: @Sendable () -> Void)?
    var connections: Set<BusProxyConnection> = []
    var threads = 0
    var isCut = false
    var isCalling = false
  }

  /// The value of `DBUS_SESSION_BUS_ADDRESS`.
  package let address: String
  private let listener: BusSocket
  private let busPath: String
  private let state = Mutex(State())

  fileprivate init(to bus: PrivateBus) throws {
    let path = "\(bus.session.folder)/proxy-\(UUID().uuidString.prefix(8))"
    address = "unix:path=\(path)"
    busPath = String(bus.address.dropFirst("unix:path=".count))
    listener = try .listening(at: path)
    startThread { self.acceptAll() }
  }

  /// The called members, in order, since counting began.
  package var calls: [String] { state.withLock(\.calls) }

  /// Counts all further calls, and performs an action at one moment, while everything else waits.
  package func count(
    stoppingAt moment: Moment? = nil, _ action: @escaping @Sendable () -> Void = {}
  ) {
    state.withLock { state in
      state.calls = []
      state.interruption = moment.map { ($0, action) }
    }
  }

  /// Calls the client from now on, as another program on the bus may, whenever it can receive a
  /// call.
  package func callClient() { state.withLock { $0.isCalling = true } }

  /// Ends the client's connections: the proxy forwards nothing more in either direction, and
  /// accepts no new connections.
  package func cut() {
    state.withLock { state in
      state.isCut = true
      listener.shut()
      for connection in state.connections { connection.shut() }
    }
  }

  fileprivate func end() async {
    cut()
    while state.withLock({ $0.threads > 0 }) { await pause() }
    listener.close()
  }

  private func acceptAll() {
    while let client = listener.accepted() {
      guard let bus = try? BusSocket.connected(to: busPath) else {
        client.close()
        continue
      }
      let connection = BusProxyConnection(client: client, bus: bus)
      let isTaken = state.withLock { state in
        guard !state.isCut, state.connections.count < 16 else { return false }
        state.connections.insert(connection)
        return true
      }
      guard isTaken else {
        connection.close()
        continue
      }
      startThread {
        connection.handOn(
          stoppingAt: self.action, isCalling: { self.state.withLock(\.isCalling) },
          isCut: { self.state.withLock(\.isCut) })
        self.state.withLock { state in
          state.connections.remove(connection)
          connection.close()
        }
      }
    }
  }

  /// Counts a call, and returns the action before or after it.
  private func action(at member: String) -> BusProxyConnection.Stop? {
    state.withLock { state in
      state.calls.append(member)
      guard let (moment, action) = state.interruption else { return nil }
      let isFirst = state.calls.firstIndex(of: member) == state.calls.count - 1
      return switch moment {
      case .before(state.calls.count): .before(action)
      case .after(state.calls.count): .after(action)
      case .afterFirst(member) where isFirst: .after(action)
      case .before, .after, .afterFirst: nil
      }
    }
  }

  private func startThread(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.threads += 1 }
    Thread {
      body()
      self.state.withLock { $0.threads -= 1 }
    }.start()
  }
}

/// Runs a test with a proxy in front of a bus.
///
/// The proxy ends with the test.
package func withBusProxy<Result>(
  to bus: PrivateBus, _ body: (BusProxy) async throws -> Result
) async throws -> Result {
  let proxy = try BusProxy(to: bus)
  do {
    let result = try await body(proxy)
    await proxy.end()
    return result
  } catch {
    await proxy.end()
    throw error
  }
}
