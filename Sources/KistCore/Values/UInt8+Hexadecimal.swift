extension UInt8 {
  /// What an ASCII digit of base 16 stands for; `nil` where it is none.
  package var hexadecimalValue: UInt8? {
    Character(Unicode.Scalar(self)).hexDigitValue.map(UInt8.init)
  }
}
