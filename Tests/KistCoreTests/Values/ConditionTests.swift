import KistCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConditionTests {
  @Test func `a revision is an epoch, a full stop and a sequence`() {
    #expect(Revision.one.rawValue == "k3f9.1")
    #expect(Revision(epoch: "e", sequence: .max).rawValue == "e.18446744073709551615")
  }

  @Test(
    arguments: [
      (.always, nil), (.always, .one), (.ifAbsent, nil), (.ifRevision(.one), .one),
    ] as [(Condition, Revision?)])
  func `a condition that holds lets the change pass`(condition: Condition, current: Revision?) {
    #expect(throws: Never.self) { try condition.check(against: current) }
  }

  @Test(
    arguments: [
      (.ifAbsent, .one), (.ifRevision(.one), nil), (.ifRevision(.one), .two),
    ] as [(Condition, Revision?)])
  func `a condition that does not hold is a conflict with the current revision`(
    condition: Condition, current: Revision?
  ) {
    let error = #expect(throws: StorageError.self) { try condition.check(against: current) }
    #expect(error?.code == .conflict)
    #expect(error?.outcome == .unchanged)
    #expect(error?.current == current.map { .revision($0) } ?? .absent)
  }

  @Test(
    arguments: [
      (.ifAbsent, .one, "the credential exists already"),
      (.ifRevision(.one), nil, "the credential does not exist"),
      (.ifRevision(.one), .two, "the credential is not at the expected revision"),
    ] as [(Condition, Revision?, String)])
  func `a conflict says what was found instead`(
    condition: Condition, current: Revision?, message: String
  ) {
    #expect(StorageError.conflict(condition, current: current).message == message)
  }
}

extension Revision {
  static let one = Revision(epoch: "k3f9", sequence: 1)
  static let two = Revision(epoch: "k3f9", sequence: 2)
}
