import KistTerminal
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A text on a terminal` {
  @Test(arguments: [
    ("", []), ("one two", ["one two"]), ("one two three", ["one two", "three"]),
    ("longer-than-all-of-it x", ["longer-than-all-of-it", "x"]),
    ("\u{6F22}\u{5B57} \u{6F22}\u{5B57}", ["\u{6F22}\u{5B57}", "\u{6F22}\u{5B57}"]),
  ])
  func `is broken between words, none of which is broken`(text: String, lines: [String]) {
    #expect(wrapped(text, to: 8) == lines)
  }

  @Test func `keeps a command on one line, also where that is wider`() {
    let text = "it is `kist passphrase set`, or `a b`: `c d` it is"
    let lines = ["it is", "`kist passphrase set`,", "or `a b`: `c d`", "it is"]
    #expect(wrapped(text, to: 16) == lines)
    #expect(wrapped("run `kist list` now", to: 8) == ["run", "`kist list`", "now"])
  }

  @Test func `keeps spaces, also in a command`() {
    let text = "the key in a  b: `rm 'a  b/key'`"
    #expect(wrapped(text, to: 20) == ["the key in a  b:", "`rm 'a  b/key'`"])
  }

  @Test func `indents the lines after the first, so that no name looks like a line`() {
    let text = "no credential for aaaa hint: run x"
    let lines = ["no credential for aaaa", "  hint: run x"]
    #expect(wrapped(text, to: 22, indent: 2) == lines)
  }
}
