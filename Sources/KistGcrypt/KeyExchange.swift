internal import CGcrypt
internal import KistCore

/// One side of a Diffie-Hellman key exchange whose secret encrypts with AES-128.
///
/// The Secret Service uses it as `dh-ietf1024-sha256-aes128-cbc-pkcs7`, and prompters as `sx-aes-1`.
package struct KeyExchange {
  /// The numbers of an exchange: those below a prime.
  package enum Group: CaseIterable, Sendable {
    /// The second Oakley group of RFC 2409, of 1,024 bits.
    case modp1024
    /// The group 5 of RFC 3526, of 1,536 bits.
    case modp1536

    /// The bytes of the group's numbers.
    package var size: Int {
      switch self {
      case .modp1024: 128
      case .modp1536: 192
      }
    }
  }

  /// The bytes of the private number: twice the strength of the group, and a quarter of the time of
  /// a number of 1,024 bits.
  private static let privateSize = 32

  private let size: Int
  private let prime: Number
  private let exponent: Number
  /// The public key, always as long as the group's numbers.
  package let publicKey: [UInt8]

  /// Makes a key pair.
  package init(_ group: Group = .modp1024) {
    startGcrypt()
    size = group.size
    prime = Number(group.prime)
    exponent = Number(randomOf: Self.privateSize)
    publicKey = Number(power: exponent, of: Number([2]), modulo: prime)
      .bytes(size).withBytes { [UInt8](copying: $0) }
  }

  /// Returns the cipher that this side shares with the owner of a public key.
  ///
  /// Returns `nil` if the key is too long, or if it would give a shared secret that everyone knows: a
  /// key of at most 1, or of at least the prime minus 1.
  package func cipher(sharedWith peer: [UInt8]) -> SessionCipher? {
    // Some libraries put a zero in front.
    guard peer.count <= size + 1 else { return nil }
    let peer = Number(peer)
    guard peer.isGreater(than: 1), peer.isLess(than: prime, minus: 1) else { return nil }
    // The padding matters: one shared secret of 256 is shorter than the prime.
    let shared = Number(power: exponent, of: peer, modulo: prime).bytes(size)
    return SessionCipher(key: derivedKey(of: shared))
  }
}

extension KeyExchange.Group {
  /// The prime, which begins and ends with 64 bits that are set.
  fileprivate var prime: [UInt8] {
    let ends: [UInt64] = [.max]
    let start: [UInt64] = [
      0xC90F_DAA2_2168_C234, 0xC4C6_628B_80DC_1CD1, 0x2902_4E08_8A67_CC74,
      0x020B_BEA6_3B13_9B22, 0x514A_0879_8E34_04DD, 0xEF95_19B3_CD3A_431B,
      0x302B_0A6D_F25F_1437, 0x4FE1_356D_6D51_C245, 0xE485_B576_625E_7EC6,
      0xF44C_42E9_A637_ED6B, 0x0BFF_5CB6_F406_B7ED, 0xEE38_6BFB_5A89_9FA5,
      0xAE9F_2411_7C4B_1FE6,
    ]
    let rest: [UInt64] =
      switch self {
      case .modp1024: [0x4928_6651_ECE6_5381]
      case .modp1536:
        [
          0x4928_6651_ECE4_5B3D, 0xC200_7CB8_A163_BF05, 0x98DA_4836_1C55_D39A,
          0x6916_3FA8_FD24_CF5F, 0x8365_5D23_DCA3_AD96, 0x1C62_F356_2085_52BB,
          0x9ED5_2907_7096_966D, 0x670C_354E_4ABC_9804, 0xF174_6C08_CA23_7327,
        ]
      }
    return (ends + start + rest + ends).flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
    }
  }
}

/// Returns the key of a session: HKDF with SHA-256 (RFC 5869), no salt and no context, 16 bytes.
private func derivedKey(of shared: Secret) -> Secret {
  let extracted = authenticationCode(
    of: shared, key: Secret(copying: [UInt8](repeating: 0, count: 32)))
  let expanded = authenticationCode(of: Secret(copying: [1]), key: extracted)
  return expanded.withBytes { Secret(copying: $0.extracting(..<SessionCipher.keySize)) }
}

/// Returns HMAC-SHA256 of some bytes.
private func authenticationCode(of bytes: Secret, key: Secret) -> Secret {
  var handle: gcry_mac_hd_t?
  unsafe mustSucceed(
    gcry_mac_open(
      &handle, CInt(GCRY_MAC_HMAC_SHA256.rawValue), UInt32(GCRY_MAC_FLAG_SECURE.rawValue), nil))
  defer { unsafe gcry_mac_close(handle) }
  key.withBytes { key in
    unsafe key.withUnsafeBytes { key in
      unsafe mustSucceed(gcry_mac_setkey(handle, key.baseAddress, key.count))
    }
  }
  bytes.withBytes { bytes in
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe mustSucceed(gcry_mac_write(handle, bytes.baseAddress, bytes.count))
    }
  }
  return unsafe Secret(written: 32) { target in
    var size = 32
    unsafe mustSucceed(gcry_mac_read(handle, target, &size))
  }
}

/// A number of libgcrypt, in its memory for secrets.
@safe private final class Number {
  let value: gcry_mpi_t?

  init(_ bytes: [UInt8]) {
    var number: gcry_mpi_t?
    unsafe mustSucceed(gcry_mpi_scan(&number, GCRYMPI_FMT_USG, bytes, bytes.count, nil))
    unsafe value = number
  }

  init(randomOf size: Int) {
    unsafe value = unsafe gcry_mpi_snew(UInt32(size * 8))
    unsafe gcry_mpi_randomize(value, UInt32(size * 8), GCRY_STRONG_RANDOM)
  }

  init(power exponent: Number, of base: Number, modulo prime: Number) {
    unsafe value = unsafe gcry_mpi_snew(gcry_mpi_get_nbits(prime.value))
    unsafe gcry_mpi_powm(value, base.value, exponent.value, prime.value)
  }

  deinit { unsafe gcry_mpi_release(value) }

  func isGreater(than small: UInt) -> Bool { unsafe gcry_mpi_cmp_ui(value, small) > 0 }

  func isLess(than other: Number, minus small: UInt) -> Bool {
    let bound = unsafe gcry_mpi_new(0)
    defer { unsafe gcry_mpi_release(bound) }
    unsafe gcry_mpi_sub_ui(bound, other.value, small)
    return unsafe gcry_mpi_cmp(value, bound) < 0
  }

  /// Returns the number in `count` bytes, with zeros in front.
  func bytes(_ count: Int) -> Secret {
    unsafe Secret(written: count) { target in
      let size = Int(unsafe gcry_mpi_get_nbits(value) + 7) / 8
      unsafe target.initialize(repeating: 0, count: count)
      var written = 0
      unsafe mustSucceed(
        gcry_mpi_print(GCRYMPI_FMT_USG, target + (count - size), size, &written, value))
    }
  }
}

extension Secret {
  /// Takes the bytes that a function writes.
  init(written count: Int, by write: (UnsafeMutablePointer<UInt8>) -> Void) {
    var bytes = WipedBytes(capacity: count)
    bytes.append(upTo: count) { output in
      unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        unsafe write(buffer.baseAddress!)
        filled = count
      }
    }
    self.init(bytes)
  }
}

/// Starts libgcrypt before any other call of it.
func startGcrypt() { precondition(gcryptHasStarted, "libgcrypt could not be started") }

private let gcryptHasStarted = kist_gcrypt_start() != 0

/// Ends the process if libgcrypt fails, which only happens when there is no memory.
func mustSucceed(_ status: gcry_error_t) {
  precondition(status == 0, "libgcrypt failed with error \(status)")
}
