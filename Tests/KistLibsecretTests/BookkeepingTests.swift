#if Libsecret
  import Foundation
  import KistCore
  @testable import KistLibsecret
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `The bookkeeping of an item` {
    private let item = ObjectPath(rawValue: "/org/freedesktop/secrets/collection/login/7")
    private let key = CredentialKey(service: "s", account: "a")
    private static let moment = Timestamp(rfc3339: "2026-01-02T03:04:05Z")!

    private let bookkeeping = Bookkeeping(
      NewCredential(
        key: .init(service: "s", account: "a"), secret: Secret(utf8: "x"), label: "a \"label\"\n",
        attributes: ["name": "välue"], expiresAt: Self.moment.advanced(bySeconds: 60)),
      after: nil, revision: Revision(epoch: "e", sequence: 7), at: Self.moment)

    @Test func `comes back as it was`() throws {
      #expect(try Bookkeeping(decoding: bookkeeping.encoded, of: key, at: item) == bookkeeping)
    }

    @Test func `is JSON in base64, as the documents show it`() throws {
      let json = try #require(Data(base64Encoded: bookkeeping.encoded))
      #expect(
        String(decoding: json, as: UTF8.self)
          == #"{"version":1,"generation":1767323045,"revision":"e.7","label":"a \"label\"\n","attributes":{"name":"välue"},"createdAt":"2026-01-02T03:04:05Z","modifiedAt":"2026-01-02T03:04:05Z","expiresAt":"2026-01-02T03:05:05Z"}"#
      )
    }

    @Test(arguments: [
      "", "{", "[]", #"{"version":2}"#, #"{"version":1}"#,
      #"{"version":1,"generation":"1","revision":"e.7","attributes":{},"createdAt":"2026-01-02T03:04:05Z","modifiedAt":"2026-01-02T03:04:05Z"}"#,
      #"{"version":1,"generation":1,"revision":"e.7","attributes":{},"createdAt":"yesterday","modifiedAt":"2026-01-02T03:04:05Z"}"#,
      #"{"version":1,"generation":1,"revision":"e.7","attributes":{},"createdAt":"2026-01-02T03:04:05Z","modifiedAt":"2026-01-02T03:04:05Z","more":1}"#,
    ])
    func `that cannot be read is corrupt, and says nothing of what is in it`(json: String) throws {
      let error = #expect(throws: StorageError.self) {
        try Bookkeeping(decoding: Data(json.utf8).base64EncodedString(), of: key, at: item)
      }
      #expect(error?.code == .corrupt)
      #expect(error?.message.contains("yesterday") == false)
    }

    @Test(arguments: ["", "e\\n7", "e 7", String(repeating: "e", count: 65)])
    func `with a revision that would forge a line is corrupt`(revision: String) {
      let json =
        #"{"version":1,"generation":1,"revision":"\#(revision)","attributes":{},"createdAt":"2026-01-02T03:04:05Z","modifiedAt":"2026-01-02T03:04:05Z"}"#
      let error = #expect(throws: StorageError.self) {
        try Bookkeeping(decoding: Data(json.utf8).base64EncodedString(), of: key, at: item)
      }
      #expect(error?.message.contains("revision") == true)
    }

    @Test func `that is not base64 is corrupt`() {
      let error = #expect(throws: StorageError.self) {
        try Bookkeeping(decoding: "???", of: key, at: item)
      }
      #expect(error?.code == .corrupt)
    }
  }
#endif
