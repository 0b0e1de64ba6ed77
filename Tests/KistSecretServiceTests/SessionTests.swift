#if SecretService
  import KistBus
  import KistCore
  import KistGcrypt
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `The key exchange of a session` {
    /// The prime of a group: RFC 2409, section 6.2; RFC 3526, section 2.
    private static func prime(_ group: KeyExchange.Group) -> [UInt8] {
      let start =
        "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A0879"
        + "8E3404DDEF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B"
        + "0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651"
      return switch group {
      case .modp1024: hexadecimal(start + "ECE65381FFFFFFFFFFFFFFFF")
      case .modp1536:
        hexadecimal(
          start
            + "ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356"
            + "208552BB9ED529077096966D670C354E4ABC9804F1746C08CA237327FFFFFFFFFFFFFFFF")
      }
    }

    @Test(arguments: KeyExchange.Group.allCases)
    func `gives both sides the same cipher, for every length of a key`(
      group: KeyExchange.Group
    ) throws {
      // One public key of 256 is shorter without its zeros, and one shared secret of 256, too.
      for _ in 0..<300 {
        let (ours, theirs) = (KeyExchange(group), KeyExchange(group))
        #expect(ours.publicKey.count == group.size)
        let short = Array(theirs.publicKey.drop { $0 == 0 })
        let cipher = try #require(ours.cipher(sharedWith: short))
        let other = try #require(theirs.cipher(sharedWith: [0] + ours.publicKey))
        let (vector, sealed) = cipher.encrypt(Secret(utf8: "correct horse"))
        #expect(
          other.decrypt(Secret(copying: sealed), vector: vector) == Secret(utf8: "correct horse"))
      }
    }

    @Test(arguments: KeyExchange.Group.allCases)
    func `refuses keys whose shared secret everyone knows`(group: KeyExchange.Group) {
      let prime = Self.prime(group)
      let last = group.size - 1
      var almost = prime
      almost[last] -= 1
      let more = [1] + prime
      let exchange = KeyExchange(group)
      let long = [UInt8](repeating: 1, count: group.size + 2)
      for key in [[], [0], [1], [0, 1], almost, prime, more, long] {
        #expect(exchange.cipher(sharedWith: key) == nil, "\(key)")
      }
      almost[last] -= 1
      #expect(exchange.cipher(sharedWith: almost) != nil)
      #expect(exchange.cipher(sharedWith: [2]) != nil)
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1000])
    func `returns a secret of any length byte for byte`(count: Int) {
      let cipher = SessionCipher(key: Secret(copying: Array(0..<16)))
      let secret = Secret(copying: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
      let (vector, sealed) = cipher.encrypt(secret)
      #expect(sealed.count == (count / 16 + 1) * 16)
      #expect(cipher.decrypt(Secret(copying: sealed), vector: vector) == secret)
    }

    @Test func `decrypts what OpenSSL encrypted`() {
      // openssl enc -aes-128-cbc -K 000102030405060708090a0b0c0d0e0f -iv 00000000000000000000000000000000
      let cipher = SessionCipher(key: Secret(copying: Array(0..<16)))
      let sealed = Self.hexadecimal("a1b11626625d353005153cab4d6812f7")
      let vector = [UInt8](repeating: 0, count: 16)
      #expect(
        cipher.decrypt(Secret(copying: sealed), vector: vector) == Secret(utf8: "correct horse"))
    }

    @Test func `refuses bad sizes and bad padding`() {
      let cipher = SessionCipher(key: Secret(copying: Array(0..<16)))
      let vector = [UInt8](repeating: 0, count: 16)
      let (_, sealed) = cipher.encrypt(Secret(copying: [UInt8](repeating: 7, count: 16)))
      for bad in [[], Array(sealed.dropLast()), Array(sealed.prefix(16))] {
        #expect(cipher.decrypt(Secret(copying: bad), vector: vector) == nil)
      }
      #expect(cipher.decrypt(Secret(copying: sealed), vector: []) == nil)
    }

    private static func hexadecimal(_ text: String) -> [UInt8] {
      let digits = text.compactMap(\.hexDigitValue)
      return stride(from: 0, to: digits.count, by: 2).map {
        UInt8(digits[$0] * 16 + digits[$0 + 1])
      }
    }
  }

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `A session of a program` {
    @Test func `is unknown to another program`() async throws {
      try await withService { (client, bus) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        let other = try await BusClient.connect(to: bus.address)
        await expectError(noSession) { _ = try await other.secret(of: item, session: session) }
        await expectError(noSession) {
          _ = try await other.create("y", [("c", "d")], session: session)
        }
        await expectError(noSuchObject) {
          try await other.call(session, "org.freedesktop.Secret.Session", "Close")
        }
        try await client.call(session, "org.freedesktop.Secret.Session", "Close")
        await expectError(noSession) { _ = try await client.secret(of: item, session: session) }
      }
    }

    @Test func `is refused beyond the limit, and another program still gets one`() async throws {
      try await withService { (client, bus) async throws in
        for _ in 0..<ServiceLimits.sessions { _ = try await client.openPlainSession() }
        await expectError(limitsExceeded) { _ = try await client.openPlainSession() }
        let other = try await BusClient.connect(to: bus.address)
        _ = try await other.openPlainSession()
      }
    }

    @Test(arguments: [
      ("rot13", "org.freedesktop.DBus.Error.NotSupported"),
      ("dh-ietf1024-sha256-aes128-cbc-pkcs7", invalidArguments),
    ])
    func `with an unknown algorithm or a bad key is refused by name`(
      algorithm: String, error: String
    ) async throws {
      try await withService { (client, _) async throws in
        await expectError(error) {
          try await client.call(
            root, "org.freedesktop.Secret.Service", "OpenSession",
            { call in
              call.write(algorithm)
              call.writeVariant(of: "ay") { call.write([1]) }
            })
        }
      }
    }

    @Test func `encrypts, and refuses a secret with bad padding without keeping anything`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (client, _) async throws in
        let exchange = KeyExchange()
        let ours = exchange.publicKey
        let (key, session) = try await client.call(
          root, "org.freedesktop.Secret.Service", "OpenSession",
          { call in
            call.write(Algorithm.dhName)
            call.writeVariant(of: "ay") { call.write(ours) }
          },
          read: { reply in
            let key = try reply.readVariant(of: "ay") { () throws(BusError) in
              try reply.readBytes()
            }
            return (key, try reply.readPath())
          })
        let theirs = key.withBytes { bytes in bytes.indices.map { bytes[$0] } }
        #expect(theirs.count == 128)
        let cipher = try #require(exchange.cipher(sharedWith: theirs))
        await expectError(invalidArguments) {
          _ = try await client.create("sixteen letters!", [("a", "b")], session: session)
        }
        #expect(try await storage.credentials.findAll().isEmpty)
        try await storage.credentials.save(.sample(secret: "correct horse"))
        try await poll("the item is found") {
          try await client.search([("service", "example.org")]).unlocked.count == 1
        }
        let item = try await client.search([("service", "example.org")]).unlocked[0]
        let secret = try await client.call(
          item, "org.freedesktop.Secret.Item", "GetSecret", { $0.write(path: session) },
          read: { reply in
            try reply.readStructure(of: "oayays") { () throws(BusError) in
              _ = try reply.readPath()
              let vector = try reply.readBytes().withBytes { b in b.indices.map { b[$0] } }
              let value = cipher.decrypt(try reply.readBytes(), vector: vector)
              _ = try reply.readString()
              return value
            }
          })
        #expect(secret == Secret(utf8: "correct horse"))
      }
    }
  }
#endif
