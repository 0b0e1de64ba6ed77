internal import KistCore
internal import KistWire

extension Terminal {
  /// Reads all of standard input; `limit` is the limit that an error mentions.
  ///
  /// On a terminal, which shows no prompt, it prints a note first.
  func input(
    upTo size: Int, _ what: String, limit: Int? = nil
  ) throws(StorageError) -> Secret {
    if inputIsTerminal { note("reading \(what) from the terminal; end it with Ctrl-D") }
    return try allPieces(upTo: size, what, limit: limit, readPiece)
  }

  /// Writes an answer to standard output for each line of standard input, until the input ends.
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
