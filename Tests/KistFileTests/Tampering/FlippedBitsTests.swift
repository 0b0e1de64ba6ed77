import Foundation
import KistCore
import KistTesting
import Testing

/// Every bit is too long for each run: `make torture` flips all of them.
@Suite(.timeLimit(.minutes(10))) struct `A store with one flipped bit` {
  private let environment = ProcessInfo.processInfo.environment

  /// - Parameter sparsity: of how many bits one is flipped, as a multiple of `KIST_BIT_STEP`.
  @Test(arguments: [(Specimen.few, 1), (Specimen.many, 20)])
  func `gives no wrong answer, wherever the bit is`(
    content: [NewCredential], sparsity: Int
  ) async throws {
    let specimen = try await Specimen(of: content)
    let step = sparsity * (environment["KIST_BIT_STEP"].flatMap { Int($0) } ?? 307)
    let first = environment["KIST_BIT_FIRST"].flatMap { Int($0) } ?? 0
    let trial = try Trial()
    var report = Report(credentials: content.count)
    for bit in stride(from: first, to: specimen.database.count * 8, by: step) {
      var tampered = specimen
      tampered.database[bit / 8] ^= 1 << (bit % 8)
      let (end, wrong) = try await trial.run(on: tampered)
      report.ends["\(end)", default: 0] += 1
      #expect(wrong.isEmpty, "bit \(bit % 8) of byte \(bit / 8): \(end)")
      if !wrong.isEmpty { report.wrong.append("bit \(bit % 8) of byte \(bit / 8): \(wrong)") }
    }
    // Most of a page is empty, and no bit of a secret is.
    #expect(report.ends.count >= 3, "\(report.ends)")
    if let path = environment["KIST_BIT_REPORT"] { try report.append(to: path) }
  }
}

/// What is told to the torture.
private struct Report: Encodable {
  let credentials: Int
  var ends: [String: Int] = [:]
  var wrong: [String] = []

  func append(to path: String) throws {
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.seekToEnd()
    try file.write(contentsOf: try JSONEncoder().encode(self) + Data("\n".utf8))
    try file.close()
  }
}
