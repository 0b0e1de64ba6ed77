import Foundation
import KistCore
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct SocketLocationTests {
  /// One of the cases that Python's client is held to as well.
  struct Case: Decodable, Sendable, CustomTestStringConvertible {
    var why: String
    var environment: [String: String]
    var runtimeDirectoryIsOurs: Bool
    /// Absent where there is no place.
    var path: String?

    var testDescription: String { why }

    static let all: [Case] = {
      let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "socket-places.json")
      return try! JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
    }()
  }

  @Test(arguments: Case.all)
  func `the socket is at the first place that the rule names`(_ example: Case) throws {
    let location = Result { () throws(StorageError) in
      try SocketLocation(
        environment: { example.environment[$0] }, uid: 1000,
        isOurDirectory: { $0 == "/run/user/1000" && example.runtimeDirectoryIsOurs })
    }
    switch location {
    case .success(let location): #expect(location.path == example.path)
    case .failure(let error):
      #expect(example.path == nil)
      #expect(error.code == .unavailable)
      // With KIST_SOCKET, the next command would miss the store, the key file and so on.
      #expect(error.hint == "set HOME to your home directory")
    }
  }

  @Test(arguments: ["HOME", "XDG_RUNTIME_DIR"])
  func `a directory with a slash at its end adds no second one`(variable: String) throws {
    let location = try SocketLocation(
      environment: { $0 == variable ? "/" : nil }, uid: 1000, isOurDirectory: { _ in false })
    #expect(!location.path.contains("//") && location.path.hasSuffix("/kist/kist.sock"))
  }

  @Test func `a socket path of 200 bytes is refused, naming it; one of 107 is not`() throws {
    let long = "/" + String(repeating: "x", count: 199)
    let error = #expect(throws: StorageError.self) { try SocketLocation(path: long) }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains(long) == true)
    #expect(throws: StorageError.self) { try SocketLocation(path: String(long.prefix(108))) }
    #expect(try SocketLocation(path: String(long.prefix(107))).path.count == 107)
  }

  @Test func `a socket path that is empty or contains a NUL is refused`() {
    for path in ["", "/run/\u{0}/kist.sock"] {
      let error = #expect(throws: StorageError.self) { try SocketLocation(path: path) }
      #expect(error?.code == .badRequest)
    }
  }
}
