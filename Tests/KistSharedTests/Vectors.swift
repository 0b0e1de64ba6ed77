import Foundation
import KistCluster
import KistCore
import KistSodium
import Testing

@testable import KistShared

/// The vectors of docs/shared-format.md, which `Tests/Reader/make_shared_vectors.py` computes.
struct Vectors: Decodable {
  struct Admin: Decodable {
    let seed, `public`: String
  }
  struct Machine: Decodable {
    let seed, signing, box, id: String
  }
  struct Generation: Decodable {
    let master, storeID, check: String
    let number: UInt32
  }
  struct Member: Decodable {
    let machine: Int
    let role: UInt32
    let name, nameNonce, wrappedKey, sealedName: String
    let added, until: Int64
  }
  struct Roster: Decodable {
    let number: UInt64
    let generation: Int
    let time: Int64
    let members: [Member]
    let record, digest, announcement: String
  }
  struct Row: Decodable {
    let generation: Int
    let service, account, serviceTag, keyTag, metadata, secret, placeNonce, record: String
    let sequence: UInt64
  }
  struct Head: Decodable {
    let sequence, count: UInt64
    let epoch, sum, roster, before, operation, key, row, nonce, record, digest: String
    let time: Int64
    let kind: UInt32
    let generation, machine: Int
  }
  struct Beacon: Decodable {
    let machine: Int
    let sequence: UInt64
    let head, nonce, record: String
    let time: Int64
  }

  let vault, epoch: String
  let admin: Admin
  let machines: [Machine]
  let generations: [Generation]
  let rosters: [Roster]
  let rows: [Row]
  let heads: [Head]
  let beacon: Beacon
  let records: [String: String]

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Golden/vectors.json")
    self = try JSONDecoder().decode(Self.self, from: try Data(contentsOf: file))
  }

  /// The keys of a generation, from its master key.
  func keys(_ generation: Int) throws -> GenerationKeys {
    let vector = generations[generation - 1]
    return try GenerationKeys(
      master: key(bytes(vector.master)), vault: id(vault), generation: vector.number,
      storeID: bytes(vector.storeID))
  }

  func identity(_ machine: Int) throws -> MachineIdentity {
    try MachineIdentity(seed: key(bytes(machines[machine].seed)))
  }

  /// The rosters, each verified by the one before.
  func verifiedRosters() throws -> [VerifiedRoster] {
    var verified = [
      try VerifiedRoster(
        verifying: bytes(rosters[0].record), of: id(vault), signedBy: bytes(admin.public))
    ]
    for roster in rosters.dropFirst() {
      verified.append(try VerifiedRoster(verifying: bytes(roster.record), after: verified.last!))
    }
    return verified
  }
}
