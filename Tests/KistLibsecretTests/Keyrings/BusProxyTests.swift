import KistKeyrings
import Synchronization
import Testing

@Suite(.requires(.dbusDaemon, .gdbus), .timeLimit(.minutes(10)))
struct `A proxy in front of a bus` {
  /// What gdbus calls for one call.
  private let calls = ["Hello", "Introspect", "GetId"]

  @Test func `hands on calls and replies, and knows the calls`() async throws {
    try await withPrivateBus { bus in
      try await withBusProxy(to: bus) { proxy in
        let reply = try await getID(from: bus, at: proxy.address)
        #expect(reply.status == 0)
        let direct = try await getID(from: bus, at: bus.address)
        #expect(reply.text == direct.text)
        #expect(proxy.calls == calls)
        proxy.count()
        #expect(proxy.calls.isEmpty)
      }
    }
  }

  @Test(arguments: [BusProxy.Moment.before(call: 3), .after(call: 3), .afterFirst("GetId")])
  func `stops its client at a call, once`(moment: BusProxy.Moment) async throws {
    try await withPrivateBus { bus in
      try await withBusProxy(to: bus) { proxy in
        let stops = Atomic(0)
        proxy.count(stoppingAt: moment) {
          stops.add(1, ordering: .relaxed)
          proxy.cut()
        }
        for _ in 0..<2 {
          let reply = try await getID(from: bus, at: proxy.address)
          #expect(reply.status != 0)
          #expect(proxy.calls == calls)
        }
        #expect(stops.load(ordering: .relaxed) == 1)
      }
    }
  }

  @Test func `lets its client go on where nothing was cut`() async throws {
    try await withPrivateBus { bus in
      try await withBusProxy(to: bus) { proxy in
        let stops = Atomic(0)
        proxy.count(stoppingAt: .after(call: 1)) { stops.add(1, ordering: .relaxed) }
        let reply = try await getID(from: bus, at: proxy.address)
        #expect(reply.status == 0)
        #expect(stops.load(ordering: .relaxed) == 1)
      }
    }
  }

  private func getID(from bus: PrivateBus, at address: String) async throws -> Output {
    try await bus.run(
      "/usr/bin/gdbus",
      [
        "call", "--address", address, "--timeout", "10", "--dest", "org.freedesktop.DBus",
        "--object-path", "/org/freedesktop/DBus", "--method", "org.freedesktop.DBus.GetId",
      ])
  }
}
