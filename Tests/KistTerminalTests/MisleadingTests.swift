import KistTerminal
import Testing

@Suite struct `A character that misleads on a terminal` {
  @Test(arguments: [
    0x0...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200F,
    0x2028...0x202E, 0x2060...0x206F, 0xFEFF...0xFEFF, 0xFFF0...0xFFFB, 0xE0000...0xE007F,
  ])
  func `is one that is obeyed, ends a line, reorders it or is not seen`(
    values: ClosedRange<UInt32>
  ) {
    for value in values { #expect(Unicode.Scalar(value)?.isMisleading == true, "\(value)") }
  }

  @Test(arguments: [
    " ~", "\u{A0}\u{E9}e\u{301}", "\u{5E9}\u{5DC}\u{5D5}\u{5DD}", "\u{6F22}\u{5B57}",
    "\u{2764}\u{FE0F}", "\u{1F1E9}\u{1F1EA}", "\u{FFFD}", "\u{E000}",
  ])
  func `is none of those of a text`(text: String) {
    let misleading = text.unicodeScalars.filter { $0.isMisleading }
    #expect(misleading.isEmpty)
  }
}
