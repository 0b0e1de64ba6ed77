import KistLinearizability

/// A kind of schedule.
enum Experiment: String, CaseIterable {
  /// Three machines, and every fault.
  case faults
  /// Three machines, every fault, and a cluster that lies.
  case lies
  /// Three machines and every fault; then the cluster loses its newest changes, or all of them.
  case losses
  /// Nine machines and every fault; the changes and the fresh loads must be linearizable.
  case linearizability

  /// Runs one schedule; returns the violations of promises, and how often each answer occurred.
  func run(seed: UInt64) -> (violations: [String], counts: [String: Int]) {
    switch self {
    case .faults: return simulate(Simulation(seed: seed))
    case .lies:
      var faults = Faults()
      faults.lie = 15
      return simulate(Simulation(seed: seed, faults: faults))
    case .losses:
      var faults = Faults()
      // Any change may be the last one that the cluster keeps.
      faults.compaction = 0
      return simulate(Simulation(seed: seed, faults: faults, losesChanges: true))
    case .linearizability:
      let simulation = Simulation(seed: seed, machines: 9, requests: 40)
      var (violations, counts) = simulate(simulation)
      let registers = simulation.histories(includingCopies: false)
      counts["operations"] = registers.reduce(0) { $0 + $1.operations.count }
      if !registers.allSatisfy({ $0.isLinearizable(from: nil) }) {
        violations.append("seed \(seed): the history is not linearizable")
      }
      return (violations, counts)
    }
  }

  private func simulate(
    _ simulation: Simulation
  ) -> (violations: [String], counts: [String: Int]) {
    let result = simulation.run()
    return (result.violations, result.counts)
  }
}
