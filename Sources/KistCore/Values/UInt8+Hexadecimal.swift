extension UInt8 {
  /// The value of an ASCII hexadecimal digit; `nil` for another byte.
  package var hexadecimalValue: UInt8? {
    Character(Unicode.Scalar(self)).hexDigitValue.map(UInt8.init)
  }

  /// The value as two lower-case hexadecimal digits.
  package var hexadecimal: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}
