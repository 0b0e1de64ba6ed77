/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers in every run, so that failures are
/// repeatable.
package struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns text of up to this many scalars from all of Unicode, many of them ASCII.
  package mutating func text(upTo count: Int) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...count, using: &self) {
      let bound: UInt32 = [0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF].randomElement(using: &self)!
      if let scalar = Unicode.Scalar(UInt32.random(in: 0...bound, using: &self)) {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// Returns up to this many bytes; all values are equally likely.
  package mutating func bytes(upTo count: Int) -> [UInt8] {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in
      UInt8.random(in: .min ... .max, using: &self)
    }
  }
}
