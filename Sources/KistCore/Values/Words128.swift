/// A number of 128 bits that is stored as two words.
///
/// Store this instead of a `UInt128`. On x86-64, Swift 6.3 compiles a call of an asynchronous function
/// wrongly if an argument on the stack is aligned to 16 bytes: the caller and the function then
/// disagree about the size of the arguments, and the task later jumps to a wrong address. The optimizer
/// also makes such arguments of values that a closure captures.
package struct Words128: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64

  /// Splits a number.
  package init(_ number: UInt128) {
    (high, low) = (UInt64(truncatingIfNeeded: number >> 64), UInt64(truncatingIfNeeded: number))
  }

  /// The number.
  package var number: UInt128 { UInt128(high) << 64 | UInt128(low) }
}
