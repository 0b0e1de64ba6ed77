import Glibc
import KistCore
import KistServer
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `Passed sockets` {
  /// Two listening sockets and what is none, at three numbers in a row; lends the first.
  private func withDescriptors(_ body: (CInt) throws -> Void) async throws {
    try await withDirectory { directory in
      let sockets = try ["a", "b"].map { try listen(at: directory + "/" + $0) }
      defer { for socket in sockets { close(socket) } }
      let row = inARow(sockets + [STDERR_FILENO])
      defer { for number in row { close(number) } }
      try body(row[0])
    }
  }

  /// Copies at numbers that follow on one another; other tests open files meanwhile.
  private func inARow(_ descriptors: [CInt]) -> [CInt] {
    var start: CInt = 400
    while true {
      let copies = descriptors.map { fcntl($0, F_DUPFD, start) }
      if copies == Array(copies[0]..<copies[0] + CInt(copies.count)) { return copies }
      for copy in copies { close(copy) }
      start = copies.max()! + 1
    }
  }

  private func take(
    _ environment: [String: String], first: CInt
  ) throws(StorageError) -> PassedSockets {
    try PassedSockets.take(environment: { environment[$0] }, pid: 42, first: first)
  }

  @Test func `are known by their names, and are not passed to other programs`() async throws {
    try await withDescriptors { first in
      #expect(fcntl(first, F_GETFD) == 0)
      let sockets = try take(
        ["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "credentials:requests"],
        first: first)
      #expect(sockets == PassedSockets(requests: first + 1, credentials: first))
      #expect(fcntl(first, F_GETFD) == FD_CLOEXEC && fcntl(first + 1, F_GETFD) == FD_CLOEXEC)
    }
  }

  @Test(arguments: ["kistd.socket", "unknown", "", nil])
  func `are for requests unless they are named credentials`(name: String?) async throws {
    try await withDescriptors { first in
      var environment = ["LISTEN_PID": "42", "LISTEN_FDS": "1"]
      environment["LISTEN_FDNAMES"] = name
      let sockets = try take(environment, first: first)
      #expect(sockets == PassedSockets(requests: first))
    }
  }

  @Test(arguments: [
    [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "41", "LISTEN_FDS": "1"],
    ["LISTEN_PID": "042", "LISTEN_FDS": "x"],
  ])
  func `of another process are not taken`(environment: [String: String]) async throws {
    try await withDescriptors { first in
      let sockets = try take(environment, first: first)
      #expect(sockets == PassedSockets())
      #expect(fcntl(first, F_GETFD) == 0)
    }
  }

  @Test(arguments: [
    ("0", ""), ("17", ""), ("x", ""), ("-1", ""), ("2", "a:b"), ("2", "credentials:credentials"),
    ("3", "requests:credentials:pipe"),
  ])
  func `that cannot be used are refused`(count: String, names: String) async throws {
    try await withDescriptors { first in
      let error = #expect(throws: StorageError.self) {
        try take(
          ["LISTEN_PID": "42", "LISTEN_FDS": count, "LISTEN_FDNAMES": names], first: first)
      }
      #expect(error?.code == .badRequest)
    }
  }
}
