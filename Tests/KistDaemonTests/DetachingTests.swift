import Foundation
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The log of kistd in the background` {
  @Test(arguments: [(1 << 20, 4), ((1 << 20) - 1, (1 << 20) + 3)])
  func `is emptied before a line if it has 1 MiB`(size: Int, expected: Int) async throws {
    try await withDirectory { directory in
      let path = directory + "/kistd.log"
      try Data(count: size).write(to: URL(filePath: path))
      await #expect(processExitsWith: .success) { [path = path as String] in
        let log = unsafe open(path, O_WRONLY | O_APPEND)
        let standardError = StandardError(log: log)
        dup2(log, STDERR_FILENO)
        standardError.write("end", level: .info)
        exit(0)
      }
      #expect(try Data(contentsOf: URL(filePath: path)).count == expected)
    }
  }

  @Test func `is the only file that kistd empties`() async throws {
    try await withDirectory { directory in
      let path = directory + "/other"
      try Data(count: 2 << 20).write(to: URL(filePath: path))
      await #expect(processExitsWith: .success) { [path = path as String] in
        let log = unsafe open("/dev/null", O_WRONLY)
        let standardError = StandardError(log: log)
        dup2(unsafe open(path, O_WRONLY | O_APPEND), STDERR_FILENO)
        standardError.write("end", level: .info)
        exit(0)
      }
      #expect(try Data(contentsOf: URL(filePath: path)).count == (2 << 20) + 4)
    }
  }
}
