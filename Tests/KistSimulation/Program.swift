import Foundation

/// Runs many schedules: `KistSimulation EXPERIMENT FIRST-SEED COUNT`.
///
/// Prints each violation, and at the end how often each answer occurred.
@main struct Program {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let experiment = Experiment(rawValue: arguments[1]),
      let first = UInt64(arguments[2]), let count = UInt64(arguments[3])
    else {
      let names = Experiment.allCases.map(\.rawValue).joined(separator: "|")
      print("usage: KistSimulation \(names) FIRST-SEED COUNT")
      exit(64)
    }
    var (counts, failed) = ([String: Int](), 0)
    for seed in first..<first + count {
      let result = experiment.run(seed: seed)
      counts.merge(result.counts, uniquingKeysWith: +)
      if !result.violations.isEmpty { failed += 1 }
      for violation in result.violations.prefix(1) { print(violation) }
      fflush(nil)
      if (seed + 1 - first).isMultiple(of: 1000) {
        print("\(experiment): \(seed + 1 - first) schedules, \(failed) failed")
      }
    }
    for (answer, number) in counts.sorted(by: { $0.key < $1.key }) { print("\(number) \(answer)") }
    print("\(experiment): \(count) schedules from seed \(first), \(failed) failed")
    exit(failed == 0 ? 0 : 1)
  }
}
