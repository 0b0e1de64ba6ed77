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

  /// The most that is paid.
  package static let greatest = KDFCost(passes: 16, kibibytes: 1 << 20)

  /// KiB that are gone over in all, which is what takes the time.
  package var work: UInt64 { UInt64(passes) * UInt64(kibibytes) }

  /// Whether a stored cost may be paid: at most 1 GiB and 16 passes, so that a forged slot cannot
  /// take the machine's memory or time.
  package var isAcceptable: Bool {
    (Self.least.passes...Self.greatest.passes).contains(passes)
      && (Self.least.kibibytes...Self.greatest.kibibytes).contains(kibibytes)
  }
}
