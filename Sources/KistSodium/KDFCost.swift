/// The cost of stretching a passphrase: time and memory for each attempt.
package struct KDFCost: Sendable, Equatable {
  /// The number of passes over the memory.
  package var passes: UInt32
  /// The memory in KiB.
  package var kibibytes: UInt32

  /// The size of the salt in bytes.
  package static let saltSize = 16

  package init(passes: UInt32, kibibytes: UInt32) {
    (self.passes, self.kibibytes) = (passes, kibibytes)
  }

  /// The cost of a new slot: 256 MiB and 3 passes.
  package static let standard = KDFCost(passes: 3, kibibytes: 256 << 10)

  /// The minimum that libsodium accepts, for tests.
  package static let least = KDFCost(passes: 1, kibibytes: 8)

  /// The maximum that is accepted: 1 GiB and 16 passes.
  package static let greatest = KDFCost(passes: 16, kibibytes: 1 << 20)

  /// The KiB processed in all passes, which determine the time.
  package var work: UInt64 { UInt64(passes) * UInt64(kibibytes) }

  /// Whether a stored cost is accepted, so that no forged slot uses up memory or time.
  package var isAcceptable: Bool {
    (Self.least.passes...Self.greatest.passes).contains(passes)
      && (Self.least.kibibytes...Self.greatest.kibibytes).contains(kibibytes)
  }
}
