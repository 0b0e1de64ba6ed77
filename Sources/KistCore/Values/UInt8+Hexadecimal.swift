extension UInt8 {
  /// The value of an ASCII hexadecimal digit; `nil` for another byte.
  package var hexadecimalValue: UInt8? {
    Character(Unicode.Scalar(self)).hexDigitValue.map(UInt8.init)
  }
}
