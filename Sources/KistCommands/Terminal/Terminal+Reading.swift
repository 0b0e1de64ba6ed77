internal import KistCore
internal import KistWire

extension Terminal {
  /// All of standard input; `limit` is what an error calls its bound.
  func input(
    upTo size: Int, _ what: String, limit: Int? = nil
  ) throws(StorageError) -> Secret {
    var input = WipedBytes(capacity: 256)
    while true {
      let piece = try readPiece()
      if piece.isEmpty { return Secret(input) }
      guard input.count + piece.count <= size else {
        throw .tooLarge(what, limit: limit ?? size)
      }
      piece.withBytes { input.append($0) }
    }
  }

  /// Answers each line of standard input with a piece of standard output, until the input ends.
  func answerLines(
    upTo limit: Int, _ answer: (Secret) async -> Secret
  ) async throws(StorageError) {
    var splitter = LineSplitter(limit: limit)
    while true {
      let piece = try readPiece()
      var events: [LineSplitter.Event] = []
      piece.withBytes { splitter.append($0) { events.append($0) } }
      if piece.isEmpty, let end = splitter.finish() { events.append(end) }
      for event in events {
        switch event {
        case .line(let line): try writeBytes(await answer(line.content))
        case .tooLong: throw .tooLarge("a line of standard input", limit: limit)
        case .unfinished: throw .badRequest("standard input ends within a line")
        }
      }
      if piece.isEmpty { return }
    }
  }
}
