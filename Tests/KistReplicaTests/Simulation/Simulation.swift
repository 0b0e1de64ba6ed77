import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization

/// One schedule: three machines that use a vault while faults happen; a seed decides everything.
final class Simulation: Sendable {
  private let seed: UInt64
  private let faults: Faults
  private let scheduler: Scheduler
  private let found = Mutex<[String]>([])
  /// What happened, for the report of a violation.
  private let trace = Mutex<[String]>([])
  private let counts = Mutex<[String: Int]>([:])
  /// The revision of the last answered save of each credential.
  private let revisions = Mutex<[CredentialKey: Revision]>([:])

  init(seed: UInt64, faults: Faults = Faults()) {
    (self.seed, self.faults) = (seed, faults)
    scheduler = Scheduler(seed: seed)
  }

  /// Runs the schedule; returns the violations of promises, and how often each answer occurred.
  func run() -> (violations: [String], counts: [String: Int], steps: Int) {
    scheduler.start {
      do { try await self.runAll() } catch { self.violation("the simulation failed: \(error)") }
    }
    if !scheduler.run() { violation("the schedule does not end") }
    let trace = trace.withLock { $0.suffix(12).joined(separator: "\n") }
    return (
      found.withLock { $0.map { "seed \(seed): \($0)\n\(trace)" } }, counts.withLock(\.self),
      scheduler.step
    )
  }

  private func violation(_ text: String) {
    note("VIOLATION \(text)")
    found.withLock { $0.append(text) }
  }

  private func note(_ text: String) {
    let time = scheduler.time
    trace.withLock { $0.append("\(time) \(text)") }
  }

  private func runAll() async throws {
    let vault = try await TestVault()
    let history = History(vault.keys, scheduler)
    let network = Network(vault.engine, history, scheduler, faults)
    let machines = (1...3).map { Machine($0, vault, network) }
    let admin = Admin(vault, network)
    await withTaskGroup { group in
      for machine in machines {
        group.addTask {
          await machine.start()
          for _ in 0..<8 { await self.request(of: machine, history) }
        }
      }
      group.addTask {
        for _ in 0..<60 {
          await self.scheduler.sleep(.milliseconds(100))
          if network.happens(\.compaction) { vault.engine.compact(upTo: vault.engine.position) }
          if network.happens(\.roster) { await admin.addRoster() }
          let machine = machines[self.scheduler.random(in: 0...2)]
          machine.setCut(
            network.happens(\.cut) || machine.isCut && !self.scheduler.happens(oneIn: 10))
        }
        for machine in machines { machine.setCut(false) }
      }
    }
    network.faults.withLock { $0 = .none }
    // A lost commit is made up to 4 seconds later.
    await scheduler.sleep(.seconds(5))
    await finish(machines, history)
  }

  /// After the faults, every machine has exactly what the history says.
  private func finish(_ machines: [Machine], _ history: History) async {
    for machine in machines {
      while machine.open == nil { await scheduler.sleep(.milliseconds(100)) }
      guard let (vault, _) = machine.open else { continue }
      for key in History.names {
        let last = history.sequences(of: key, from: .max, to: .max).first!
        let loaded = await outcome { () throws(StorageError) in
          try await vault.loadFresh(LoadRequest(key: key))
        }
        switch loaded {
        case .success(let credential):
          if credential.summary.revision.sequence != last
            || credential.secret != history.secret(of: key, at: last)
          {
            violation(
              "machine \(machine.number) ends with \(credential.summary.revision.sequence ?? 0), "
                + "not with \(last); now it is \(history.sequences(of: key, from: .max, to: .max))")
          }
        case .failure(let error):
          if error.code != .notFound || last != 0 {
            violation("machine \(machine.number) ends with \(error), not with change \(last)")
          }
        }
      }
      let reopened = machine.reopened.load(ordering: .relaxed)
      counts.withLock { $0["reopened", default: 0] += reopened }
      await machine.stop()
    }
  }

  private func outcome<Answer>(
    _ body: () async throws(StorageError) -> Answer
  ) async -> Result<Answer, StorageError> {
    do throws(StorageError) { return .success(try await body()) } catch { return .failure(error) }
  }

  /// Makes one request, and checks its answer.
  private func request(of machine: Machine, _ history: History) async {
    await scheduler.sleep(.milliseconds(scheduler.random(in: 0...600)))
    while machine.open == nil { await scheduler.sleep(.milliseconds(50)) }
    guard let (vault, life) = machine.open else { return }
    let key = History.names[scheduler.random(in: 0...History.names.count - 1)]
    let operation = Operation(key)
    machine.operation.withLock { $0 = operation }
    defer { machine.operation.withLock { $0 = nil } }
    let check = Check(
      key: key, operation: operation, history: history, start: scheduler.step,
      startTime: scheduler.time, isStrict: faults.lie == 0)
    let kind = scheduler.random(in: 1...10)
    let name = "machine \(machine.number), \(key.account)"
    var text: String
    var problem: String?
    switch kind {
    case 1...5:
      let secret = Secret(utf8: "secret \(scheduler.step)")
      let revision = revisions.withLock { $0[key] }
      let condition: Condition =
        switch kind {
        case 4: revision.map { .ifRevision($0) } ?? .ifAbsent
        case 5: .ifAbsent
        default: .always
        }
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.save(
          SaveRequest(
            credential: NewCredential(key: key, secret: secret), condition: condition))
      }
      if case .success(let summary) = answer {
        revisions.withLock { $0[key] = summary.revision }
      }
      text = "\(condition == .always ? "save" : "save on condition"): \(describe(answer))"
      if !life.isDead { problem = check.saved(secret, answer, until: scheduler.step) }
    case 6:
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.delete(DeleteRequest(key: key))
      }
      text = "delete: \(describe(answer))"
      if !life.isDead { problem = check.deleted(answer, until: scheduler.step) }
    case 7...8:
      let answer = await outcome { () throws(StorageError) in
        try await vault.loadFresh(LoadRequest(key: key))
      }
      text = "load fresh: \(describe(answer))"
      if !life.isDead { problem = check.loaded(answer, fresh: true, until: scheduler.step) }
    default:
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.load(LoadRequest(key: key))
      }
      text = "load: \(describe(answer))"
      if !life.isDead { problem = check.loaded(answer, fresh: false, until: scheduler.step) }
    }
    note("\(name): \(text)\(life.isDead ? ", but the machine crashed" : "")")
    if !life.isDead { counts.withLock { $0[text, default: 0] += 1 } }
    if let problem { violation("\(name): \(text): \(problem)") }
  }

  private func describe<Answer>(_ answer: Result<Answer, StorageError>) -> String {
    switch answer {
    case .success: "answered"
    case .failure(let error):
      "\(error.code) \(error.outcome.map { "\($0)" } ?? "")"
    }
  }
}
