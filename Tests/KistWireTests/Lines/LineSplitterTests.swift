import KistCore
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct LineSplitterTests {
  @Test(
    arguments: [
      ("", [], false), ("\n", [], false), ("a\n", ["a"], false), ("a\nb\n", ["a", "b"], false),
      ("a", [], true), ("a\nb", ["a"], true), ("\n\n \t\r\n\na\n\n", ["a"], false),
      ("a\r\nb\r\n", ["a\r", "b\r"], false), (" a \n", [" a "], false), ("a\n \r", ["a"], false),
      ("a\r", [], true), ("é😀\n\u{0}\n", ["é😀", "\u{0}"], false),
    ] as [(String, [String], Bool)])
  func `a stream is cut into the same lines wherever it arrives in pieces`(
    stream: String, lines: [String], endsWithinALine: Bool
  ) {
    let expected = lines.map { LineSplitter.Event.line(Line($0)) }
    let bytes = Array(stream.utf8)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
        let ending = endsWithinALine ? [LineSplitter.Event.unfinished] : []
        #expect(events(of: pieces) == expected + ending)
      }
    }
    #expect(events(of: bytes.map { [$0][...] }).prefix(lines.count) == expected[...])
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func `random lines come out as they went in`(seed: UInt64) {
    var random = Seeded(seed)
    let lines = (0..<20).map { _ in
      [UInt8(ascii: "x")] + random.bytes(upTo: 60).filter { $0 != UInt8(ascii: "\n") }
    }
    var rest = lines.flatMap { $0 + [UInt8(ascii: "\n")] }[...]
    var pieces: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
      let count = Int.random(in: 1...40, using: &random)
      pieces.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    #expect(events(of: pieces) == lines.map { .line(Line(Secret(copying: $0))) })
  }

  @Test(arguments: [1, 7, 8, 9, 1000])
  func `a line of the limit is a line, and one of a byte more is too long`(pieceSize: Int) {
    let fits = Array(repeating: UInt8(ascii: "x"), count: 8)
    let newline = [UInt8(ascii: "\n")]
    let line = LineSplitter.Event.line(Line("xxxxxxxx"))
    let next = Array("next\n".utf8)
    #expect(
      events(of: pieces(fits + newline + fits + newline, pieceSize), limit: 8) == [line, line])
    // What comes after a line that is too long is not looked at: where it would begin is not known.
    let tooLong = fits + fits.prefix(1)
    #expect(
      events(of: pieces(fits + newline + tooLong + newline + next, pieceSize), limit: 8)
        == [line, .tooLong])
    #expect(events(of: pieces(tooLong, pieceSize), limit: 8) == [.tooLong])
    #expect(
      events(of: pieces(fits + [UInt8(ascii: "\r")] + newline, pieceSize), limit: 8) == [.tooLong])
  }

  @Test func `the limit of the protocol is 1 MiB without the newline`() {
    let fits = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    let newline = [UInt8(ascii: "\n")]
    #expect(events(of: [(fits + newline)[...]]) == [.line(Line(Secret(copying: fits)))])
    #expect(events(of: [(fits + [0x78] + newline)[...]]) == [.tooLong])
  }

  @Test func `a line that never ends is reported once, as soon as it is too long`() {
    var splitter = LineSplitter(limit: 1000)
    var events: [Int: LineSplitter.Event] = [:]
    let piece = Secret(copying: [UInt8](repeating: UInt8(ascii: "x"), count: 100))
    for count in 1...1000 {
      piece.withBytes { splitter.append($0) { events[count] = $0 } }
    }
    #expect(events == [11: .tooLong])
    #expect(splitter.finish() == nil)
  }

  @Test func `nothing comes after the end`() {
    var splitter = LineSplitter()
    var lines = 0
    Secret(utf8: "a").withBytes { splitter.append($0) { _ in lines += 1 } }
    #expect(splitter.finish() == .unfinished)
    #expect(splitter.finish() == nil)
    Secret(utf8: "b\n").withBytes { splitter.append($0) { _ in lines += 1 } }
    #expect(lines == 0)
  }
}

private func pieces(_ bytes: [UInt8], _ size: Int) -> [ArraySlice<UInt8>] {
  stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
}

private func events(
  of pieces: [ArraySlice<UInt8>], limit: Int = Limits.line
) -> [LineSplitter.Event] {
  var splitter = LineSplitter(limit: limit)
  var events: [LineSplitter.Event] = []
  for piece in pieces {
    Secret(copying: piece).withBytes { splitter.append($0) { events.append($0) } }
  }
  if let last = splitter.finish() { events.append(last) }
  return events
}
