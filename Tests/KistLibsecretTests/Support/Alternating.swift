import KistCore
import KistTesting
import Testing

extension UserStorage {
  /// Does something between every change and what is read after it; requests go one by one.
  func alternating(_ interlude: @escaping @Sendable () async throws -> Void) -> UserStorage {
    let turns = Turns(interlude)
    return UserStorage(
      save: { request throws(StorageError) in
        try await turns.changing { () throws(StorageError) in try await save(request) }
      },
      load: { request throws(StorageError) in
        try await turns.reading { () throws(StorageError) in try await load(request) }
      },
      delete: { request throws(StorageError) in
        try await turns.changing { () throws(StorageError) in try await delete(request) }
      },
      find: { query throws(StorageError) in
        try await turns.reading { () throws(StorageError) in try await find(query) }
      })
  }
}

private actor Turns {
  private let interlude: @Sendable () async throws -> Void
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var hasChanged = false

  init(_ interlude: @escaping @Sendable () async throws -> Void) { self.interlude = interlude }

  func changing<Output: Sendable>(
    _ body: @Sendable () async throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    await enter()
    defer { leave() }
    hasChanged = true
    return try await body()
  }

  func reading<Output: Sendable>(
    _ body: @Sendable () async throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    await enter()
    defer { leave() }
    if hasChanged {
      hasChanged = false
      do { try await interlude() } catch { Issue.record(error) }
    }
    return try await body()
  }

  private func enter() async {
    if isTaken {
      await withCheckedContinuation { waiting.append($0) }
    } else {
      isTaken = true
    }
  }

  private func leave() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}
