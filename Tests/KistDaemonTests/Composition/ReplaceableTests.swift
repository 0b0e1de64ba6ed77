import KistTesting
import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(5))) struct `A value that is replaced while it has users` {
  @Test func `is replaced when the last user has left, and later users get the new one`()
    async throws
  {
    let leased = Replaceable(1)
    let (entries, enter) = AsyncStream.makeStream(of: Int.self)
    let (doors, open) = AsyncStream.makeStream(of: Void.self)
    let log = Log()
    let user = Task {
      await leased.use { value in
        enter.yield(value)
        for await _ in doors { break }
        log.append("left \(value)")
      }
    }
    for await value in entries {
      #expect(value == 1)
      break
    }
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let replacement = Task {
      await leased.replace { old in
        log.append("replacing \(old)")
        begin.yield()
        return old + 1
      }
    }
    open.yield()
    for await _ in begun { break }
    await user.value
    await replacement.value
    #expect(log.lines == ["left 1", "replacing 1"])
    #expect(await leased.value() == 2)
  }

  @Test func `is the new one for all users that came while it was being replaced`() async {
    let leased = Replaceable(1)
    let (doors, open) = AsyncStream.makeStream(of: Void.self)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let replacement = Task {
      await leased.replace { _ in
        begin.yield()
        for await _ in doors { break }
        return 2
      }
    }
    for await _ in begun { break }
    let users = (0..<100).map { _ in Task { await leased.value() } }
    for _ in 0..<100 { await Task.yield() }
    open.yield()
    await replacement.value
    for user in users { #expect(await user.value == 2) }
  }

  @Test func `is released by a user that fails`() async throws {
    struct Failure: Error {}
    let leased = Replaceable(1)
    await #expect(throws: Failure.self) {
      try await leased.use { _ throws(Failure) in throw Failure() }
    }
    await leased.replace { $0 + 1 }
    #expect(await leased.value() == 2)
  }

  @Test func `is never in use while it is replaced`() async {
    let leased = Replaceable(0)
    let users = Users()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<500 {
            await leased.use { _ in
              users.count.add(1, ordering: .relaxed)
              await Task.yield()
              users.count.subtract(1, ordering: .relaxed)
            }
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<100 {
            await leased.replace { value in
              let count = users.count.load(ordering: .relaxed)
              #expect(count == 0)
              await Task.yield()
              return value + 1
            }
          }
        }
      }
    }
    #expect(await leased.value() == 200)
  }
}

extension Replaceable<Int> {
  fileprivate func value() async -> Int { await use { value in value } }
}

private final class Log: Sendable {
  private let text = Mutex<[String]>([])

  var lines: [String] { text.withLock { $0 } }

  func append(_ line: String) { text.withLock { $0.append(line) } }
}

private final class Users: Sendable {
  let count = Atomic(0)
}
