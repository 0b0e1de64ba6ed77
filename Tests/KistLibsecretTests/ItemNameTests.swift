#if Libsecret
  import Testing

  @testable import KistLibsecret

  @Suite(.timeLimit(.minutes(10))) struct `A service or an account` {
    @Test(arguments: ["", "github.com", " a ", "C:\\x", "日本語", "a=b", "https://x/?a=b#c", "kist"])
    func `is stored unchanged in its attribute`(name: String) {
      #expect(ItemName.encode(name) == name)
      #expect(ItemName.decode(name) == name)
    }

    @Test(arguments: ["{USERNAME}", "a{b", "\u{FEFF}a", "a\u{FEFF}", "kist1:", "kist1:YQ=="])
    func `is stored in base64 if a keyring would alter it`(name: String) {
      let text = ItemName.encode(name)
      #expect(text.utf8.allSatisfy { (0x21...0x7A).contains($0) })
      #expect(!text.utf8.elementsEqual(name.utf8))
      #expect(ItemName.decode(text)?.utf8.elementsEqual(name.utf8) == true)
    }

    @Test(arguments: ["kist1:a", "kist1:/w=="])
    func `is nobody's where it is marked as base64 and is not text`(text: String) {
      #expect(ItemName.decode(text) == nil)
    }
  }
#endif
