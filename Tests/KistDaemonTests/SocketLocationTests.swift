import KistCore
import KistWire
import Testing

struct SocketLocationTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var environment: [String: String]
    var hasRuntimeDirectory = false
    var path: String
    var testDescription: String { path }
  }

  @Test(arguments: [
    Case(
      environment: ["KIST_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": "/run/x", "HOME": "/home/u"],
      hasRuntimeDirectory: true, path: "/a/b.sock"),
    Case(environment: ["KIST_SOCKET": "near.sock"], path: "near.sock"),
    Case(
      environment: ["KIST_SOCKET": "", "XDG_RUNTIME_DIR": "/run/x", "HOME": "/home/u"],
      path: "/run/x/kist/kist.sock"),
    Case(
      environment: ["XDG_RUNTIME_DIR": "/run/x", "HOME": "/home/u"], hasRuntimeDirectory: true,
      path: "/run/x/kist/kist.sock"),
    Case(
      environment: ["XDG_RUNTIME_DIR": "relative", "HOME": "/home/u"], hasRuntimeDirectory: true,
      path: "/run/user/1000/kist/kist.sock"),
    Case(environment: ["HOME": "/home/u"], path: "/home/u/.local/state/kist/kist.sock"),
  ])
  func `the socket is at the first place that the rule names`(_ example: Case) throws {
    let location = try SocketLocation(
      environment: { example.environment[$0] }, uid: 1000,
      isOurDirectory: { $0 == "/run/user/1000" && example.hasRuntimeDirectory })
    #expect(location.path == example.path)
  }

  @Test func `without XDG_RUNTIME_DIR and HOME there is no place, and the hint says what to set`() {
    let error = #expect(throws: StorageError.self) {
      try SocketLocation(environment: { _ in nil }, uid: 1000, isOurDirectory: { _ in false })
    }
    #expect(error?.code == .unavailable)
    #expect(error?.hint?.contains("KIST_SOCKET") == true)
  }

  @Test func `a socket path of 200 bytes is refused, naming it; one of 107 is not`() throws {
    let long = "/" + String(repeating: "x", count: 199)
    let error = #expect(throws: StorageError.self) { try SocketLocation(path: long) }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains(long) == true)
    #expect(throws: StorageError.self) { try SocketLocation(path: String(long.prefix(108))) }
    #expect(try SocketLocation(path: String(long.prefix(107))).path.count == 107)
  }
}
