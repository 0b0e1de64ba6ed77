import Glibc
import KistTerminal
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The width of a text` {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("\u{E9}", 1), ("e\u{301}", 1), ("\u{6F22}\u{5B57}", 4), ("\u{FF21}", 2),
    ("\u{1F511}", 2), ("\u{AC00}", 2), ("\u{1112}\u{1161}\u{11AB}", 2), ("\u{FF76}", 1),
  ])
  func `is in columns of a terminal`(text: String, width: Int) {
    #expect(text.terminalWidth == width)
  }

  @Test func `is that of the C library, except for characters of other Unicode versions`() {
    let locale = unsafe newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
    let previous = unsafe uselocale(locale)
    defer {
      unsafe uselocale(previous)
      unsafe freelocale(locale)
    }
    var (compared, different) = (0, [String]())
    for value in UInt32(0x20)...0x3FFFF {
      guard let scalar = Unicode.Scalar(value), scalar.properties.age != nil else { continue }
      let expected = wcwidth(wchar_t(value))
      guard expected >= 0 else { continue }
      compared += 1
      if String(scalar).terminalWidth != Int(expected) {
        different.append(String(value, radix: 16))
      }
    }
    #expect(compared > 100_000)
    #expect(different.count < 30, "\(different)")
  }
}

// <wchar.h> declares it for the X/Open standard only, which the Glibc module does not ask for.
@_silgen_name("wcwidth") private func wcwidth(_ character: wchar_t) -> CInt
