import Foundation
import KistCore
import KistTesting
import Testing

/// Whatever is done to a store at rest by somebody without its key, each answer afterwards is right or
/// `corrupt`; none is of other bytes, none says of what was there that it is absent, and what is refused
/// changes nothing.
@Suite(.timeLimit(.minutes(10))) struct `A store that was tampered with` {
  @Test(arguments: Attack.onRows)
  func `in its rows gives no wrong answer`(attack: Attack) async throws {
    try await attack.isRepelled()
  }

  @Test(arguments: Attack.onTheHeader)
  func `in its header gives no wrong answer`(attack: Attack) async throws {
    try await attack.isRepelled()
  }

  @Test(arguments: Attack.onSlots)
  func `in its slots gives no wrong answer`(attack: Attack) async throws {
    try await attack.isRepelled()
  }

  @Test(arguments: Attack.onTheSchema)
  func `in its schema does not open`(attack: Attack) async throws {
    try await attack.isRepelled()
  }

  @Test(arguments: Attack.onPages)
  func `in its pages gives no wrong answer`(attack: Attack) async throws {
    try await attack.isRepelled()
  }

  @Test(arguments: Attack.beside)
  func `by a file beside it gives no wrong answer`(attack: Attack) async throws {
    try await attack.isRepelled()
  }
}

extension Attack {
  /// Carries the attack out on a store of its own.
  func isRepelled() async throws {
    let scene = try await Scene.make()
    let tampered = try apply(scene)
    let (end, wrong) = try await Trial().run(on: tampered, older: scene.older.content)
    #expect(wrong.isEmpty, "\(end)")
    #expect(ends.contains(end), "\(end)")
    try await isExamined(tampered, scene, noticed: end != .unaffected)
  }
}
