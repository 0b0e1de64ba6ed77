/// The operations of several clients on one register, to check that they are linearizable.
///
/// They are if there is an order in which each operation takes effect at one moment between its start
/// and its end, and has the answer that it got. The search is the algorithm of Wing and Gong with the
/// memory of Lowe (https://www.cs.ox.ac.uk/people/gavin.lowe/LinearizabiltyTesting/paper.pdf).
package struct RegisterHistory<Value: Hashable & Sendable>: Sendable {
  /// The value that an operation found.
  package enum Finding: Sendable {
    case any
    case value(Value)
    case other(than: Value)
  }

  package struct Operation: Sendable {
    let found: Finding
    let written: Value?
    let start: Int
    let end: Int
    /// Whether the answer is unknown: the operation may take effect at any later time, or never.
    let isOptional: Bool
  }

  package private(set) var operations: [Operation] = []

  package init() {}

  /// Adds an operation with a known answer; `written` is `nil` if it wrote nothing.
  package mutating func add(_ found: Finding, writes written: Value?, from start: Int, to end: Int)
  {
    operations.append(
      Operation(found: found, written: written, start: start, end: end, isOptional: false))
  }

  /// Adds an operation that may have been made, or may still be.
  package mutating func addUnknown(_ found: Finding, writes written: Value, from start: Int) {
    operations.append(
      Operation(found: found, written: written, start: start, end: .max, isOptional: true))
  }

  /// Returns whether there is such an order, for a register that begins with a value.
  package func isLinearizable(from initial: Value) -> Bool {
    var search = Search(operations.sorted { $0.start < $1.start })
    return search.canContinue(from: initial)
  }

  private struct Search {
    private struct Visit: Hashable {
      var done: [Bool]
      var value: Value
    }

    private let operations: [Operation]
    private var done: [Bool]
    private var visits: Set<Visit> = []

    init(_ operations: [Operation]) {
      self.operations = operations
      done = operations.map { _ in false }
    }

    /// Returns whether the operations that are not done have an order from this value on.
    mutating func canContinue(from value: Value) -> Bool {
      let left = operations.indices.filter { !done[$0] }
      guard left.contains(where: { !operations[$0].isOptional }) else { return true }
      guard visits.insert(Visit(done: done, value: value)).inserted else { return false }
      // The next operation began before each of the others ended.
      let firstEnd = left.reduce(Int.max) { min($0, operations[$1].end) }
      for index in left.prefix(while: { operations[$0].start <= firstEnd }) {
        let operation = operations[index]
        let fits =
          switch operation.found {
          case .any: true
          case .value(let found): found == value
          case .other(let excluded): excluded != value
          }
        guard fits else { continue }
        done[index] = true
        if canContinue(from: operation.written ?? value) { return true }
        done[index] = false
      }
      return false
    }
  }
}
