import KistCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A character that misleads on a terminal` {
  @Test(arguments: [
    0x0...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200F,
    0x2028...0x202E, 0x2060...0x206F, 0x115F...0x1160, 0x3164...0x3164, 0x34F...0x34F,
    0xFFA0...0xFFA0, 0xFEFF...0xFEFF, 0xFFF0...0xFFFB, 0xE0000...0xE007F,
  ])
  func `is a control character, a line separator, a reordering or an invisible character`(
    values: ClosedRange<UInt32>
  ) {
    for value in values { #expect(Unicode.Scalar(value)?.isMisleading == true, "\(value)") }
  }

  @Test(arguments: [
    " ~", "\u{A0}\u{E9}e\u{301}", "\u{5E9}\u{5DC}\u{5D5}\u{5DD}", "\u{6F22}\u{5B57}",
    "\u{2764}\u{FE0F}", "\u{1F1E9}\u{1F1EA}", "\u{FFFD}", "\u{E000}",
  ])
  func `is not a character of usual text`(text: String) {
    let misleading = text.unicodeScalars.filter { $0.isMisleading }
    #expect(misleading.isEmpty)
  }

  @Test func `is escaped once`() {
    let text = "a\u{1B}]0;x\u{7}\r\n\u{9B}2J\u{7F}\u{202E}\u{E0001}\u{5E9}\u{301}\\"
    let shown = #"a\u{1b}]0;x\u{7}\u{d}\u{a}\u{9b}2J\u{7f}\u{202e}\u{e0001}"# + "\u{5E9}\u{301}\\"
    #expect(visible(text) == shown)
    #expect(visible(shown) == shown)
  }

  @Test func `is a control character if and only if Unicode's tables say so`() {
    let different = (0...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init).filter {
      $0.isControl != ($0.properties.generalCategory == .control)
    }
    #expect(different == [])
  }

  @Test func `stays in a name for a program, unless it is a control character`() {
    #expect(
      visible("a\tb\n\u{200D}\u{85}", escaping: \.isControl) == "a\\u{9}b\\u{a}\u{200D}\\u{85}")
  }
}
