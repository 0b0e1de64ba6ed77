import Dispatch
import Foundation
import KistCore
import KistWire
import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(5))) struct `Another program's lock on the audit log` {
  @Test(arguments: ["auditVerify", "audit", "lock"])
  func `delays no load`(operation: String) async throws {
    try await withLog { log in
      let audit = log.open()
      let storage = try await log.store().audited(by: audit)
      audit.put(1)
      await audit.flush()
      audit.put(2)
      let answer = KistWire.answer(
        with: dispatch(KistWire.Endpoints(serving: storage, audit: audit.access(storage.nameSeal))))
      let other = unsafe open(log.path, O_RDONLY | O_CLOEXEC)
      defer { close(other) }
      #expect(flock(other, LOCK_EX) == 0)
      let loop = TestLoop()
      let answered = Answered()
      let slow = #"{"op":"\#(operation)"}"#
      let slowTask = Task(executorPreference: loop) {
        _ = await answer(Line(Secret(utf8: slow)))
        answered.add(slow)
      }
      let loads = Task(executorPreference: loop) {
        // Many, since the slow request has several parts, and each may run between two loads.
        for _ in 0..<100 {
          _ = await answer(Line(Secret(utf8: #"{"op":"load","service":"example.org"}"#)))
          answered.add("load")
          await Task.yield()
        }
        // kistd still waits for the lock.
        #expect(log.recorder.lines.isEmpty)
        #expect(flock(other, LOCK_UN) == 0)
      }
      await loads.value
      await slowTask.value
      #expect(answered.requests.firstIndex(of: slow) == 100)
      await storage.close()
    }
  }
}

/// The requests in the order of their answers.
private final class Answered: Sendable {
  private let state = Mutex<[String]>([])

  var requests: [String] { state.withLock { $0 } }

  func add(_ request: String) { state.withLock { $0.append(request) } }
}

/// Runs tasks on one thread, as the event loop of kistd does.
private final class TestLoop: TaskExecutor {
  private let queue = DispatchQueue(label: "loop")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
