#if Libsecret
  import KistCore
  @testable import KistLibsecret
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `The value of an item` {
    private let item = ObjectPath(rawValue: "/org/freedesktop/secrets/collection/login/7")

    @Test(arguments: [
      "hunter2", "pässwörd", "a b", "[item]", "#", "kist", "kist1", "=", "'\"$`", "日本語",
    ])
    func `is stored plain if every keyring keeps it`(text: String) throws {
      let value = ItemValue.encode(Secret(utf8: text))
      #expect(value == Secret(utf8: text))
      #expect(try ItemValue.decode(value, of: item) == Secret(utf8: text))
    }

    @Test(arguments: awkwardSecrets)
    func `is stored in one line of base64 if a keyring might alter it`(secret: AwkwardSecret) throws
    {
      let value = ItemValue.encode(secret.secret)
      #expect(value != secret.secret)
      value.withBytes { bytes in
        for offset in bytes.indices { #expect((0x21...0x7E).contains(bytes[offset])) }
      }
      #expect(try ItemValue.decode(value, of: item) == secret.secret)
    }

    @Test(arguments: ["kist1:a", "kist1:AA=A", "kist1:AB==", "kist1:a b "])
    func `is damaged where it is marked as base64 and is not`(text: String) {
      #expect(throws: StorageError.self) { try ItemValue.decode(Secret(utf8: text), of: item) }
    }

    @Test func `is what another program stored, to the byte`() throws {
      let bytes: [UInt8] = [0xFF, 0, 0x0A, 0x5C, 0x20]
      #expect(try ItemValue.decode(Secret(copying: bytes), of: item) == Secret(copying: bytes))
    }
  }
#endif
