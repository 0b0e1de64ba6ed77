import Foundation
import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistVault

/// The vectors of docs/file-format.md, which `Tests/Reader/make_vectors.py` computes.
private struct Vectors: Decodable {
  struct Tag: Decodable {
    let service, account, serviceTag, keyTag: String
    let address: Int64
  }
  struct Slot: Decodable {
    let number, kind: UInt32
    let body: String
    let keyFile, passphrase: String?
  }
  struct Header: Decodable {
    let epoch, message, nonce, sealed, slotsHash: String
    let sequence, count: UInt64
  }
  struct Row: Decodable {
    let service, account: String
    let label: String?
    let attributes: [String: String]
    let createdAt, modifiedAt: Int64
    let expiresAt: Int64?
    let sequence: UInt64
    let secretHex, metadataNonce, secretNonce, metadata, secret, metadataMessage, hash: String
    /// The fields by their tags.
    let fields, secretFields: [String: String]?

    var key: CredentialKey { CredentialKey(service: service, account: account) }
  }

  let master, storeID, sum, revision: String
  let tags: [Tag]
  let paddedSizes: [[Int]]
  let rows: [Row]
  let slots: [Slot]
  let header: Header
  let extended: Row

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "KistFileTests/Golden/vectors.json")
    self = try JSONDecoder().decode(Self.self, from: try Data(contentsOf: file))
  }
}

@Suite(.timeLimit(.minutes(5))) struct `The format, against its vectors` {
  private let vectors = try! Vectors()
  private let keys: StoreKeys

  init() throws {
    keys = try StoreKeys(
      master: GuardedKey(copying: bytes(vectors.master).span), storeID: bytes(vectors.storeID))
  }

  @Test func `tags, addresses and padded sizes are those of the vectors`() {
    for vector in vectors.tags {
      let tag = keys.tag(of: CredentialKey(service: vector.service, account: vector.account))
      #expect([UInt8](copying: tag.service.bytes.span) == bytes(vector.serviceTag))
      #expect([UInt8](copying: tag.key.bytes.span) == bytes(vector.keyTag))
      #expect(RowAddresses.of(tag).contains(vector.address))
      #expect(keys.serviceTag(of: vector.service) == tag.service)
    }
    for sizes in vectors.paddedSizes { #expect(paddedSize(sizes[0]) == sizes[1]) }
  }

  @Test func `rows are sealed to the bytes of the vectors, and opened again`() throws {
    for vector in vectors.rows + [vectors.extended] {
      let identity = RowIdentity(tag: keys.tag(of: vector.key), sequence: vector.sequence)
      let metadata = Metadata(
        key: vector.key, label: vector.label, attributes: Attributes(vector.attributes),
        createdAt: try #require(Timestamp(secondsSinceEpoch: vector.createdAt)),
        modifiedAt: try #require(Timestamp(secondsSinceEpoch: vector.modifiedAt)),
        expiresAt: vector.expiresAt.flatMap(Timestamp.init(secondsSinceEpoch:)),
        fields: try fields(vector.fields), secretHasFields: vector.secretFields != nil)
      let secret = Secret(copying: bytes(vector.secretHex))
      var nonces = Nonces(bytes(vector.metadataNonce) + bytes(vector.secretNonce))
      let row = keys.seal(metadata, secret, try fields(vector.secretFields), as: identity, &nonces)
      let message = copy(metadata.encoded())
      #expect(message == bytes(vector.metadataMessage))
      #expect(row.metadata == bytes(vector.metadata) && row.secret == bytes(vector.secret))
      #expect(try keys.openMetadata(row.metadata.span, as: identity) == metadata)
      let opened = try keys.openRow(row.secret.span, of: metadata, as: identity)
      #expect(opened.secret == secret)
      #expect(try opened.secretFields == fields(vector.secretFields))
      #expect(copy(keys.hash(of: row)) == bytes(vector.hash))
    }
  }

  @Test func `the header is that of the rows and the slots of the vectors`() throws {
    let slots = try vectors.slots.map { slot in
      try KeySlot(decoding: bytes(slot.body), number: slot.number, storeID: keys.storeID)
    }
    var header = Header(
      epoch: try #require(UInt64(vectors.header.epoch, radix: 16)),
      slots: KeySlot.hash(of: slots, storeID: keys.storeID))
    header.sequence = vectors.header.sequence
    for vector in vectors.rows {
      let identity = RowIdentity(tag: keys.tag(of: vector.key), sequence: vector.sequence)
      header.replaceRow(
        nil,
        with: keys.hash(
          of: SealedRow(
            identity: identity, metadata: bytes(vector.metadata), secret: bytes(vector.secret))))
    }
    #expect(copy(header.sum) == bytes(vectors.sum))
    #expect(header.slots == bytes(vectors.header.slotsHash))
    #expect(header.lastRevision.rawValue == vectors.revision)
    let sealed = keys.seal(header, nonce: bytes(vectors.header.nonce))
    #expect(sealed == bytes(vectors.header.sealed))
    #expect(try keys.openHeader(sealed) == header)
  }

  @Test func `the key slots of the vectors open with their keys`() throws {
    for vector in vectors.slots {
      let slot = try KeySlot(
        decoding: bytes(vector.body), number: vector.number, storeID: keys.storeID)
      #expect(slot.encoded(storeID: keys.storeID) == bytes(vector.body))
      var master: GuardedKey?
      if let keyFile = vector.keyFile {
        master = try openSlot(
          with: GuardedKey(copying: bytes(keyFile).span), among: [slot], storeID: keys.storeID)
      } else if let passphrase = vector.passphrase {
        master =
          try openSlot(
            with: Secret(utf8: passphrase), among: [slot], storeID: keys.storeID
          ).master
      } else {
        #expect(!slot.isKnown)
        continue
      }
      #expect(master?.withBytes { [UInt8](copying: $0) } == bytes(vectors.master))
    }
  }

  /// The fields as they are stored; `nil` for none.
  private func fields(_ values: [String: String]?) throws -> Fields? {
    guard let values else { return nil }
    var encoded: [UInt8] = []
    for (tag, value) in values.compactMap({ tag, value in UInt32(tag).map { ($0, value) } })
      .sorted(by: { $0.0 < $1.0 })
    {
      encoded.append(littleEndian: tag)
      encoded.append(littleEndian: UInt32(bytes(value).count))
      encoded += bytes(value)
    }
    return try Fields(decoding: encoded.span)
  }
}
