import Foundation
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A test that needs something its machine does not have` {
  @Test(arguments: [nil, "1"])
  func `is skipped, and fails in continuous integration`(ci: String?) async {
    // In a process of its own, because the environment is the whole process's.
    await #expect(processExitsWith: .success) { [ci = ci as String?] in
      if let ci { unsafe setenv("CI", ci, 1) } else { unsafe unsetenv("CI") }
      let there = try await ConditionTrait.needs("a moon", true).evaluate()
      #expect(there)
      let error = try await missingPart {
        try await ConditionTrait.needs("a moon", false).evaluate()
      }
      #expect((error != nil) == (ci != nil))
      #expect(error?.description.contains("lacks a moon") != false)
    }
  }
}

/// The error of a condition; `nil` when it is false.
private func missingPart(_ condition: () async throws -> Bool) async throws -> MissingPart? {
  do {
    if try await condition() { Issue.record("there is no moon") }
    return nil
  } catch let error as MissingPart {
    return error
  }
}
