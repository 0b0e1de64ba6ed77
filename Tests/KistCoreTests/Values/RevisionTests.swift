import KistCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Of two revisions` {
  @Test(arguments: [
    ("e.2", "e.1", true), ("e.1", "e.2", false), ("e.1", "e.1", false), ("e.10", "e.9", true),
    ("a.b.2", "a.b.1", true), ("e.2", "f.1", nil), ("2", "1", nil), ("e.x", "e.1", nil),
    ("e.", "e.1", nil),
  ])
  func `the later one is known within an epoch`(one: String, other: String, isLater: Bool?) {
    #expect(Revision(rawValue: one).isLater(than: Revision(rawValue: other)) == isLater)
  }
}
