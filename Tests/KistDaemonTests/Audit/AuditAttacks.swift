import KistWire
import Testing

/// What is done to the ten lines of a log, and what the check then finds.
struct Attack: Sendable, CustomTestStringConvertible {
  typealias Fault = AuditVerdict.Fault

  let testDescription: String
  let fault: Fault?
  /// The same where kistd was started again meanwhile.
  let faultAfterRestart: Fault?
  let apply: @Sendable (inout [String]) -> Void

  init(
    _ name: String, _ kind: AuditVerdict.Kind, _ lines: ClosedRange<Int>, count: Int? = nil,
    isNoticedAfterRestart: Bool = true, _ apply: @escaping @Sendable (inout [String]) -> Void
  ) {
    testDescription = name
    fault = Fault(kind, file: "audit.jsonl", lines: lines, count: count)
    faultAfterRestart = isNoticedAfterRestart ? fault : nil
    self.apply = apply
  }

  /// Lines 1 to 3 and 8 to 10 are written each by itself, and 4 to 7 at once; 5 names nothing.
  static let all = [
    Attack("changed", .changed, 2...2) { $0[1].replace("\"pid\":42", with: "\"pid\":43") },
    Attack("changed among others", .changed, 4...4) { $0[3].replace("ok", with: "no") },
    Attack("changed without names", .changed, 4...7) { $0[4].replace("status", with: "unlock") },
    Attack("reduced to what the chain covers", .changed, 4...4) {
      $0[3] = String($0[3].suffix(26))
    },
    Attack("without its first line", .removed, 1...1) { $0.removeFirst() },
    Attack("without a line", .removed, 2...2, count: 1) { $0.remove(at: 1) },
    Attack("without the line before a write", .removed, 3...6, count: 1) { $0.remove(at: 2) },
    Attack("without a line among others", .removed, 4...6, count: 1) { $0.remove(at: 4) },
    Attack("without the end of a write", .removed, 4...7, count: 1) { $0.remove(at: 6) },
    Attack("with a line twice", .added, 10...10, count: 1) { $0.insert($0[8], at: 9) },
    Attack("with a line of before at the end", .added, 11...11, count: 1) { $0.append($0[1]) },
    Attack("with its first line again at the end", .restarted, 11...11) { $0.append($0[0]) },
    Attack("with a line twice in a write", .added, 4...8, count: 1) { $0.insert($0[3], at: 4) },
    Attack("with two lines swapped", .removed, 8...8, count: 1) { $0.swapAt(7, 8) },
    Attack("with two lines of a write swapped", .changed, 4...7) { $0.swapAt(3, 5) },
    Attack("with a line of 1.1 MiB", .added, 4...8, count: 1) {
      $0.insert(String(repeating: "x", count: 1_153_434), at: 4)
    },
    Attack("with a line that has no chain", .added, 9...10, count: 1) {
      $0.insert(#"{"time":"2026-11-20T10:00:00.007Z","lost":3}"#, at: 8)
    },
    Attack(
      "with a line at the end that has no chain", .added, 11...11, count: 1,
      isNoticedAfterRestart: false
    ) { $0.append(#"{"time":"2026-11-20T10:00:00.007Z","lost":3}"#) },
    Attack("cut by a line", .cut, 9...9, count: 1) { $0.removeLast() },
    Attack("cut within a write", .cut, 5...5, count: 7) { $0.removeSubrange(5...) },
    Attack("without anything", .cut, 1...1, count: 10) { $0 = [] },
    Attack("without chains", .cut, 10...10, count: 10) { lines in
      lines = lines.map { $0.replacing(#/,"number".*/#, with: "}") }
    },
  ]
}

extension String {
  fileprivate mutating func replace(_ text: String, with other: String) {
    self = replacing(text, with: other, maxReplacements: 1)
  }
}
