import KistCore
import KistWire

/// The splitter: it returns the same lines as a splitter that sees everything at once, wherever the
/// bytes were cut.
let lines = Target("lines") { input in
  var input = input
  let limit = Int(input.byte())
  let longestPiece = 1 + input.choice(of: 32)
  let stream = input.rest
  let expected = events(of: stream, limit: limit)
  demand(
    expected == split(stream, limit: limit, inPiecesOf: max(1, stream.count)),
    "a stream is split as it should be")
  demand(
    expected == split(stream, limit: limit, inPiecesOf: longestPiece),
    "the lines do not depend on where the stream was cut")
}

private func split(
  _ stream: [UInt8], limit: Int, inPiecesOf size: Int
) -> [LineSplitter.Event] {
  var splitter = LineSplitter(limit: limit)
  var events: [LineSplitter.Event] = []
  for start in stride(from: 0, to: stream.count, by: size) {
    let piece = Array(stream[start..<min(start + size, stream.count)])
    splitter.append(piece.span) { events.append($0) }
  }
  if let last = splitter.finish() { events.append(last) }
  return events
}

private func events(of stream: [UInt8], limit: Int) -> [LineSplitter.Event] {
  let pieces = stream.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  var events: [LineSplitter.Event] = []
  for (number, piece) in pieces.enumerated() {
    if piece.count > limit { return events + [.tooLong] }
    if piece.allSatisfy(" \t\r".utf8.contains) { continue }
    events.append(
      number == pieces.count - 1 ? .unfinished : .line(Line(Secret(copying: Array(piece)))))
  }
  return events
}
