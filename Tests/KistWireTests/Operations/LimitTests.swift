import KistCore
import KistTesting
import KistWire
import Testing

/// What meets every limit exactly is carried out, and no reply is longer than a line.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
  @Test(arguments: [0x01, 0x22, 0x61, 0xFF] as [UInt8])
  func `the largest credential of all fits in a line, both ways`(byte: UInt8) async throws {
    let largest = NewCredential.largest(secretOf: byte)
    let answer = answer(with: service(.inMemory()))
    let storage = Endpoints.remote(
      over: exchange { line throws(StorageError) in
        #expect(line.content.count <= Limits.line)
        let reply = await answer(line)
        #expect(reply.content.count <= Limits.line)
        return reply
      }
    ).credentials
    let saved = try await storage.save(largest)
    let loaded = try await storage.load(largest.key)
    #expect(loaded == Credential(summary: saved, secret: largest.secret))
    #expect(try await storage.findAll() == [saved])
  }

  @Test func `a page ends early to stay within a line, and nothing is left out`() async throws {
    let storage = UserStorage.inMemory()
    for number in 0..<40 {
      var large = NewCredential.largest(secretOf: 0x61)
      large.key.account = String(number)
      try await storage.save(large)
    }
    let answer = answer(with: service(storage))
    let id = String(repeating: "\\u0078", count: 128)
    var found: [String] = []
    var cursor = ""
    repeat {
      let reply = await answer(Line(#"{"op":"find","id":"\#(id)"\#(cursor)}"#))
      #expect(reply.content.count <= Limits.line)
      #expect(reply.text.hasPrefix(#"{"ok":true"#))
      let page = try await Endpoints.remote(over: exchange { _ throws(StorageError) in reply })
        .credentials
        .find(CredentialQuery())
      found += page.credentials.map(\.key.account)
      cursor = page.next.map { #","after":"\#($0)""# } ?? ""
    } while !cursor.isEmpty
    #expect(found.count == 40)
    #expect(Set(found).count == 40)
  }
}

extension NewCredential {
  /// A credential at every limit whose fields other than the secret take the most bytes in a line.
  fileprivate static func largest(secretOf byte: UInt8) -> NewCredential {
    let quotes = String(repeating: "\"", count: 1024)
    // Names of 2 bytes and 254 control characters, which are escaped as six bytes each.
    let value = String(repeating: "\u{1}", count: 254)
    var attributes = Attributes()
    for number in 10..<74 { attributes[String(number)] = value }
    return NewCredential(
      key: CredentialKey(service: quotes, account: quotes),
      secret: Secret(copying: [UInt8](repeating: byte, count: Limits.secret)), label: quotes,
      attributes: attributes, expiresAt: Timestamp(secondsSinceEpoch: 253_402_300_799))
  }
}
