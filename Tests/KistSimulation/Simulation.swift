import KistCluster
import KistCore
import KistLinearizability
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization

/// One schedule: some machines that use a vault while faults happen; a seed decides everything.
final class Simulation: Sendable {
  private let seed: UInt64
  private let machineCount: Int
  private let requests: Int
  private let faults: Faults
  let losesChanges: Bool
  let scheduler: Scheduler
  private let found = Mutex<[String]>([])
  /// What happened, for the report of a violation.
  private let trace = Mutex<[String]>([])
  let counts = Mutex<[String: Int]>([:])
  /// The last answered save of each credential.
  private let saves = Mutex<[CredentialKey: (revision: Revision, secret: Secret)]>([:])
  private let registers = Mutex<[CredentialKey: Register]>([:])
  /// As `registers`, with the loads from the copies.
  private let registersWithAllLoads = Mutex<[CredentialKey: Register]>([:])

  /// - Parameter requests: how many each machine makes.
  /// - Parameter losesChanges: whether the cluster loses its newest changes in the end.
  init(
    seed: UInt64, machines: Int = 3, requests: Int = 8, faults: Faults = Faults(),
    losesChanges: Bool = false
  ) {
    (self.seed, machineCount, self.requests, self.faults) = (seed, machines, requests, faults)
    self.losesChanges = losesChanges
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

  func violation(_ text: String) {
    note("VIOLATION \(text)")
    found.withLock { $0.append(text) }
  }

  func note(_ text: String) {
    let time = scheduler.time
    trace.withLock { $0.append("\(time) \(text)") }
  }

  private func runAll() async throws {
    let vault = try await TestVault(members: 1...10)
    let history = History(vault, scheduler)
    let network = Network(vault.engine, history, scheduler, faults)
    let machines = TestVault.writers.prefix(machineCount).map { Machine($0, vault, network) }
    await withTaskGroup { group in
      for machine in machines {
        group.addTask {
          await machine.start()
          for _ in 0..<self.requests { await self.request(of: machine, history) }
        }
      }
      group.addTask {
        for _ in 0..<self.requests * 15 / 2 {
          await self.scheduler.sleep(.milliseconds(100))
          if network.happens(\.compaction) { vault.engine.compact(upTo: vault.engine.position) }
          let machine = machines[self.scheduler.random(in: 0...self.machineCount - 1)]
          machine.setCut(
            network.happens(\.cut) || machine.isCut && !self.scheduler.happens(oneIn: 10))
        }
        for machine in machines { machine.setCut(false) }
      }
      // Two admins, who may get in each other's way.
      for machine in machines.prefix(2) {
        group.addTask { await self.administer(from: machine, machines, network) }
      }
    }
    network.faults.withLock { $0 = .none }
    // A lost commit is made up to 4 seconds later.
    await scheduler.sleep(.seconds(5))
    var ending = vault
    if losesChanges {
      await loseChanges(machines, network, faults)
      ending.invitation = await newestInvitation(vault)
    }
    await finish(machines, network, ending)
    await finishRemoved(machines, network, ending)
    await finishNewcomer(4, network, ending)
  }

  /// Adds and removes machines.
  private func administer(
    from machine: Machine, _ machines: [Machine], _ network: Network
  ) async {
    let admin = Admin(on: machine, network)
    func report(_ change: String, _ result: (answer: String, problem: String?)) {
      self.report(change, by: machine, result)
    }
    for _ in 0..<requests * 15 / 2 {
      await scheduler.sleep(.milliseconds(100))
      guard machine.disk.note != nil else { continue }
      if network.happens(\.roster) { report("new machine", await admin.addMember()) }
      if network.happens(\.generation) {
        let number = scheduler.random(in: 0...machines.count * 2 - 1)
        let removed = number < machines.count ? machines[number] : nil
        report("new key", await admin.beginGeneration(without: removed))
      }
    }
  }

  /// Notes what an admin was answered.
  func report(
    _ change: String, by machine: Machine, _ result: (answer: String, problem: String?)
  ) {
    note("\(change) by machine \(machine.number): \(result.answer)")
    counts.withLock { $0["\(change): \(result.answer)", default: 0] += 1 }
    if let problem = result.problem { violation("\(change): \(result.answer): \(problem)") }
  }

  func outcome<Answer>(
    _ body: () async throws(StorageError) -> Answer
  ) async -> Result<Answer, StorageError> {
    do throws(StorageError) { return .success(try await body()) } catch { return .failure(error) }
  }

  /// Makes one request, and checks its answer.
  func request(of machine: Machine, _ history: History) async {
    await scheduler.sleep(.milliseconds(scheduler.random(in: 0...600)))
    while machine.open == nil, !machine.isRemoved { await scheduler.sleep(.milliseconds(50)) }
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
    let start = scheduler.step
    // A change whose answer the machine did not live to see may have been made.
    func answered<Answer>(_ answer: Result<Answer, StorageError>) -> Bool? {
      switch answer {
      case _ where life.isDead: nil
      case .success: true
      case .failure(let error): error.outcome == .unknown ? nil : false
      }
    }
    var text: String
    var problem: String?
    switch kind {
    case 1...5:
      let secret = Secret(utf8: "secret \(scheduler.step)")
      let last = saves.withLock { $0[key] }
      let condition: Condition =
        switch kind {
        case 4: last.map { .ifRevision($0.revision) } ?? .ifAbsent
        case 5: .ifAbsent
        default: .always
        }
      let expected: Register.Finding =
        condition == .always ? .any : .value(kind == 4 ? last?.secret.bytes : nil)
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.save(
          SaveRequest(
            credential: NewCredential(key: key, secret: secret), condition: condition))
      }
      if case .success(let summary) = answer {
        saves.withLock { $0[key] = (summary.revision, secret) }
      }
      note(key, fresh: true) { register, end in
        switch answered(answer) {
        case nil: register.addUnknown(expected, writes: secret.bytes, from: start)
        case true?: register.add(expected, writes: secret.bytes, from: start, to: end)
        case false?: break
        }
      }
      text = "\(condition == .always ? "save" : "save on condition"): \(describe(answer))"
      if !life.isDead { problem = check.saved(secret, answer, until: scheduler.step) }
    case 6:
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.delete(DeleteRequest(key: key))
      }
      note(key, fresh: true) { register, end in
        switch (answered(answer), answer) {
        case (nil, _): register.addUnknown(.other(than: nil), writes: nil, from: start)
        case (_, .success(true)):
          register.add(.other(than: nil), writes: .some(nil), from: start, to: end)
        case (_, .success(false)): register.add(.value(nil), writes: nil, from: start, to: end)
        default: break
        }
      }
      text = "delete: \(describe(answer))"
      if !life.isDead { problem = check.deleted(answer, until: scheduler.step) }
    case 7...8:
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.load(LoadRequest(key: key, maxStale: 0))
      }
      noteLoad(of: key, answer, fresh: true, from: start)
      text = "load fresh: \(describe(answer))"
      if !life.isDead { problem = check.loaded(answer, fresh: true, until: scheduler.step) }
    default:
      let answer = await outcome { () throws(StorageError) in
        try await vault.credentials.load(LoadRequest(key: key))
      }
      noteLoad(of: key, answer, fresh: false, from: start)
      text = "load: \(describe(answer))"
      if !life.isDead { problem = check.loaded(answer, fresh: false, until: scheduler.step) }
    }
    note("\(name): \(text)\(life.isDead ? ", but the machine crashed" : "")")
    if !life.isDead { counts.withLock { $0[text, default: 0] += 1 } }
    if let problem { violation("\(name): \(text): \(problem)") }
  }

  typealias Register = RegisterHistory<[UInt8]?>

  /// Returns the histories of the credentials; each begins absent.
  ///
  /// - Parameter includesCopies: Whether loads from the copies are in them, which may be old.
  func histories(includingCopies includesCopies: Bool) -> [Register] {
    let found =
      includesCopies
      ? registersWithAllLoads.withLock(\.self) : registers.withLock(\.self)
    return Array(found.values)
  }

  /// Adds an operation that has ended to the histories of a credential.
  private func note(
    _ key: CredentialKey, fresh: Bool, _ body: (inout Register, _ end: Int) -> Void
  ) {
    let end = scheduler.step
    if fresh { registers.withLock { body(&$0[key, default: Register()], end) } }
    registersWithAllLoads.withLock { body(&$0[key, default: Register()], end) }
  }

  private func noteLoad(
    of key: CredentialKey, _ answer: Result<Credential, StorageError>, fresh: Bool, from start: Int
  ) {
    note(key, fresh: fresh) { register, end in
      switch answer {
      case .success(let credential):
        register.add(.value(credential.secret.bytes), writes: nil, from: start, to: end)
      case .failure(let error) where error.code == .notFound:
        register.add(.value(nil), writes: nil, from: start, to: end)
      case .failure: break
      }
    }
  }

  private func describe<Answer>(_ answer: Result<Answer, StorageError>) -> String {
    switch answer {
    case .success: "answered"
    case .failure(let error):
      "\(error.code) \(error.outcome.map { "\($0)" } ?? "")"
    }
  }
}

extension Secret {
  fileprivate var bytes: [UInt8] { withBytes { Array(copying: $0) } }
}
