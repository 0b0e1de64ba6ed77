/// What stretching a passphrase costs: time for who tries one, and memory.
package struct KDFCost: Sendable, Equatable {
  /// Passes over the memory.
  package var passes: UInt32
  /// Memory in KiB.
  package var kibibytes: UInt32

  /// Bytes of the salt that goes with it.
  package static let saltSize = 16

  /// Makes a cost.
  package init(passes: UInt32, kibibytes: UInt32) {
    self.passes = passes
    self.kibibytes = kibibytes
  }

  /// What a new slot asks: 256 MiB, 3 passes.
  package static let standard = KDFCost(passes: 3, kibibytes: 256 << 10)

  /// The least that libsodium does; for tests.
  package static let least = KDFCost(passes: 1, kibibytes: 8)

  /// Whether a stored cost may be paid: at most 1 GiB and 16 passes, so that a forged slot cannot
  /// take the machine's memory or time.
  package var isAcceptable: Bool {
    (Self.least.passes...16).contains(passes)
      && (Self.least.kibibytes...1 << 20).contains(kibibytes)
  }
}
