import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Synchronization
import Testing

/// The vectors of docs/file-format.md, which `Tests/Reader/make_vectors.py` computes.
struct Vectors: Decodable {
  struct Tag: Decodable {
    let service, account, serviceTag, keyTag: String
    let address: Int64
  }
  struct Slot: Decodable {
    let number: Int
    let body: String
    let keyFile, passphrase: String?
  }
  struct Header: Decodable { let nonce, sealed: String }
  /// A row with fields of a later version, alone in its store.
  struct Extended: Decodable {
    let row: StoredRow
    let header, metadataMessage, secretMessage: String

    private enum CodingKeys: CodingKey { case header, metadataMessage, secretMessage }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      row = try StoredRow(from: decoder)
      header = try container.decode(String.self, forKey: .header)
      metadataMessage = try container.decode(String.self, forKey: .metadataMessage)
      secretMessage = try container.decode(String.self, forKey: .secretMessage)
    }
  }
  struct StoredRow: Decodable {
    let service, account: String
    let label: String?
    let attributes: [String: String]
    let createdAt, modifiedAt: Int64
    let expiresAt: Int64?
    let sequence: Int
    let address: Int64
    let secretHex, metadataNonce, secretNonce, metadata, secret, serviceTag, keyTag: String

    var credential: NewCredential {
      NewCredential(
        key: CredentialKey(service: service, account: account),
        secret: Secret(copying: bytes(secretHex)), label: label, attributes: .init(attributes),
        expiresAt: expiresAt.flatMap(Timestamp.init(secondsSinceEpoch:)))
    }
  }

  let storeID, emptyHeader, revision: String
  let tags: [Tag]
  let paddedSizes: [[Int]]
  let rows: [StoredRow]
  let slots: [Slot]
  let header: Header
  let extended: Extended

  static func read() throws -> Vectors {
    try JSONDecoder().decode(Vectors.self, from: try golden("vectors.json"))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The vectors of the file format` {
  let vectors = try! Vectors.read()
  let store = try! TestStore()

  @Test func `a store made of the vectors opens with the key file and has their credentials`()
    async throws
  {
    try await makeStore(vectors.rows, vectors.header.sealed)
    try await expectContent(try await store.open())
  }

  @Test func `a key slot of an unknown kind is listed as it is in the vectors`() async throws {
    try await makeStore(vectors.rows, vectors.header.sealed)
    let opened = try await store.open()
    #expect(
      try await opened.keySlots.list().map(\.kind) == [.keyFile, .passphrase, .unknown])
    await opened.close()
  }

  @Test func `a row with fields is read, and a copy of it has the fields of the vectors`()
    async throws
  {
    let extended = vectors.extended
    try await makeStore([extended.row], extended.header)
    let opened = try await store.open()
    let loaded = try await opened.credentials.load(extended.row.credential.key)
    #expect(loaded.secret == extended.row.credential.secret)
    await expect(.denied) { try await opened.credentials.save(extended.row.credential) }
    await opened.close()
    let copy = RawRow(
      metadata: bytes(extended.metadataMessage), secret: bytes(extended.secretMessage))
    #expect(try store.rawRow() == copy)
    let salvaged = try TestStore()
    _ = try EncryptedFile.salvage(
      path: store.path, keySource: .keyFile(path: store.keyPath),
      to: .init(path: salvaged.path, keySource: .keyFile(path: store.keyPath)))
    #expect(try salvaged.rawRow(openedBy: store.keyPath) == copy)
  }

  @Test func `a store made of the vectors opens with the passphrase`() async throws {
    try await makeStore(vectors.rows, vectors.header.sealed)
    let passphrase = try #require(vectors.slots.compactMap(\.passphrase).first)
    try await expectContent(try await store.open(.passphrase(Secret(utf8: passphrase))))
  }

  @Test func `with the nonces of the vectors the same bytes are written`() async throws {
    try await makeStore()
    let (first, second) = (vectors.rows[0], vectors.rows[1])
    let unused = [UInt8](repeating: 0xFF, count: 24)
    let nonces = Mutex(
      [
        bytes(first.metadataNonce), bytes(first.secretNonce), unused, unused, unused, unused,
        bytes(second.metadataNonce), bytes(second.secretNonce), bytes(vectors.header.nonce),
      ][...])
    let opened = try await store.open(nonces: { count in
      nonces.withLock { nonces in (0..<count).flatMap { _ in nonces.removeFirst() } }
    })
    try await opened.credentials.save(first.credential)
    try await opened.credentials.save(.sample(second.credential.key, secret: "replaced"))
    store.clock.advance(bySeconds: second.modifiedAt - second.createdAt)
    try await opened.credentials.save(second.credential)
    await opened.close()
    try store.meddle { database in
      for row in vectors.rows {
        let stored = try Row.fetchOne(
          database, sql: "SELECT * FROM credential WHERE sequence = ?", arguments: [row.sequence])
        #expect(stored?["metadata"] == Data(bytes(row.metadata)))
        #expect(stored?["secret"] == Data(bytes(row.secret)))
      }
      #expect(
        try Data.fetchOne(database, sql: "SELECT header FROM store")
          == Data(bytes(vectors.header.sealed)))
    }
  }

  @Test func `the tags and addresses of the vectors are written`() async throws {
    try await makeStore()
    let opened = try await store.open()
    for tag in vectors.tags {
      try await opened.credentials.save(.sample(.init(service: tag.service, account: tag.account)))
    }
    await opened.close()
    try store.meddle { database in
      let written = try Row.fetchAll(database, sql: "SELECT * FROM credential ORDER BY sequence")
      #expect(written.map { $0["service_tag"] } == vectors.tags.map { Data(bytes($0.serviceTag)) })
      #expect(written.map { $0["key_tag"] } == vectors.tags.map { Data(bytes($0.keyTag)) })
      #expect(written.map { $0["address"] } == vectors.tags.map(\.address))
    }
  }

  @Test func `two credentials that share their addresses are distinguished`() async throws {
    try await makeStore()
    let pair = vectors.tags.suffix(2).map {
      CredentialKey(service: $0.service, account: $0.account)
    }
    let first = vectors.tags[vectors.tags.count - 2].address
    #expect(vectors.tags.suffix(2).map(\.address) == [first, first + 1])
    let opened = try await store.open()
    for key in pair { try await opened.credentials.save(.sample(key, secret: "of \(key.account)")) }
    for key in pair {
      #expect(try await opened.credentials.load(key).secret == Secret(utf8: "of \(key.account)"))
    }
    #expect(try await opened.credentials.findAll().map(\.key) == pair)
    try await opened.credentials.delete(pair[0])
    await expect(.notFound) { try await opened.credentials.load(pair[0]) }
    try await opened.credentials.save(.sample(pair[1], secret: "replaced"))
    try await opened.credentials.save(.sample(pair[0], secret: "back"))
    await opened.close()

    let reopened = try await store.open()
    #expect(try await reopened.credentials.load(pair[0]).secret == Secret(utf8: "back"))
    #expect(try await reopened.credentials.load(pair[1]).secret == Secret(utf8: "replaced"))
    #expect(try await reopened.access.status().count == 2)
    await expect(.notFound) { try await reopened.credentials.load(.init(service: "absent")) }
    await reopened.close()
  }

  @Test func `secrets are padded to the sizes of the vectors`() async throws {
    let opened = try await store.open()
    let sizes = vectors.paddedSizes.filter { $0[0] >= 4 }
    for size in sizes {
      let secret = Secret(copying: [UInt8](repeating: 0, count: size[0] - 4))
      try await opened.credentials.save(
        NewCredential(key: .init(service: String(size[0])), secret: secret))
    }
    await opened.close()
    try store.meddle { database in
      let written = try Int.fetchAll(
        database, sql: "SELECT length(secret) FROM credential ORDER BY sequence")
      #expect(written == sizes.map { $0[1] + 40 })
    }
  }

  private func expectContent(_ opened: OpenStorage) async throws {
    let status = try await opened.access.status()
    #expect(status.count == vectors.rows.count)
    for row in vectors.rows {
      let request = LoadRequest(key: row.credential.key, allowExpired: true)
      let loaded = try await opened.credentials.load(request)
      #expect(loaded.secret == row.credential.secret)
      #expect(loaded.summary.label == row.label)
      #expect(loaded.summary.attributes == row.credential.attributes)
      #expect(loaded.summary.createdAt.secondsSinceEpoch == row.createdAt)
      #expect(loaded.summary.modifiedAt.secondsSinceEpoch == row.modifiedAt)
      #expect(loaded.summary.expiresAt == row.credential.expiresAt)
    }
    let last = try await opened.credentials.load(vectors.rows[1].credential.key)
    #expect(last.summary.revision.rawValue == vectors.revision)
    #expect(try await opened.credentials.findAll().count == vectors.rows.count)
    #expect(try await opened.access.status().integrity == .ok)
    await opened.close()
  }

  /// Makes a store whose keys are those of the vectors, by writing its tables.
  private func makeStore(
    _ rows: [Vectors.StoredRow] = [], _ header: String? = nil
  ) async throws {
    try await store.fill([])
    try Data(bytes(try #require(vectors.slots.compactMap(\.keyFile).first)))
      .write(to: URL(filePath: store.keyPath))
    try store.meddle { database in
      try database.execute(
        sql: "UPDATE store SET id = ?, header = ?",
        arguments: [
          Data(bytes(vectors.storeID)),
          Data(bytes(header ?? vectors.emptyHeader)),
        ])
      try database.execute(sql: "DELETE FROM slot")
      for slot in vectors.slots {
        try database.execute(
          sql: "INSERT INTO slot VALUES (?, ?)", arguments: [slot.number, Data(bytes(slot.body))])
      }
      for (row, tag) in rows.map({ ($0, tags(of: $0)) }) {
        try database.execute(
          sql: "INSERT INTO credential VALUES (?, ?, ?, ?, ?, ?)",
          arguments: [
            row.address, tag.service, tag.key, row.sequence, Data(bytes(row.metadata)),
            Data(bytes(row.secret)),
          ])
      }
    }
  }

  private func tags(of row: Vectors.StoredRow) -> (service: Data, key: Data) {
    (Data(bytes(row.serviceTag)), Data(bytes(row.keyTag)))
  }
}

func bytes(_ hexadecimal: String) -> [UInt8] {
  stride(from: 0, to: hexadecimal.utf8.count, by: 2).map { offset in
    let start = hexadecimal.utf8.index(hexadecimal.startIndex, offsetBy: offset)
    return UInt8(hexadecimal[start..<hexadecimal.utf8.index(start, offsetBy: 2)], radix: 16)!
  }
}

/// The content of a committed file.
func golden(_ name: String) throws -> Data {
  let folder = try #require(Bundle.module.url(forResource: "Golden", withExtension: nil))
  return try Data(contentsOf: folder.appending(path: name))
}
