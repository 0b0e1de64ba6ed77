internal import KistCore
internal import KistWire

/// An opened storage, and what answers the lines of clients from it.
struct Served: Sendable {
  let storage: OpenStorage
  let answer: @Sendable (Line) async -> Line

  init(_ storage: OpenStorage, _ options: Options) {
    self.storage = storage
    answer = storage.answering(options)
  }
}
