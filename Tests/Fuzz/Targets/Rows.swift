import KistCore
import KistSodium

@testable import KistVault

/// Rows: a sealed row is opened unchanged with its key at its place, and never otherwise.
let rows = Target("rows") { input in
  var input = input
  let key = CredentialKey(service: input.text(before: 0), account: input.text(before: 0))
  let label = input.text(before: 0)
  let attributes: Attributes = [input.text(before: 0): input.text(before: 0)]
  let sequence = UInt64(input.byte()), changed = Int(input.byte()) << 8 | Int(input.byte())
  let difference = input.byte(), place = input.choice(of: 7)
  let secret = Secret(copying: input.rest)
  let moment = Timestamp(clamping: Int64(sequence) << 24)
  var metadata = Metadata(
    NewCredential(
      key: key, secret: secret, label: label.isEmpty ? nil : label, attributes: attributes,
      expiresAt: sequence.isMultiple(of: 2) ? nil : moment),
    createdAt: moment, modifiedAt: moment)
  // The bytes of a secret may be fields, too.
  metadata.fields = try? secret.withBytes { bytes throws(StorageError) in
    try Fields(decoding: bytes)
  }
  metadata.secretHasFields = metadata.fields != nil
  let identity = RowIdentity(tag: storeKeys.tag(of: key), sequence: sequence)
  var nonces = Nonces(fixedNonce + fixedNonce)
  let row = storeKeys.seal(metadata, secret, metadata.fields, as: identity, &nonces)
  let hasSavableRest = areWithinLimits(metadata.label, metadata.attributes)
  let isSavable = metadata.key.isWithinLimits && hasSavableRest
  demand(
    // To keep the fields, a save reads all metadata of the row that it replaces, except the key: a
    // request named it.
    isOpened(row, key) == (hasSavableRest || metadata.fields == nil)
      && (try? storeKeys.openMetadata(row.metadata.span, as: identity))
        == (isSavable ? metadata : nil),
    "metadata are opened as they were sealed, and only such as a save leaves")
  let opened = try? storeKeys.openRow(row.secret.span, of: metadata, as: identity)
  demand(
    opened?.secret == secret && opened?.secretFields == metadata.fields,
    "a secret is opened as it was sealed")

  var forged = row
  switch place {
  case 0: forged.metadata.change(at: changed, by: difference)
  case 1: forged.secret.change(at: changed, by: difference)
  case 2: forged.identity.sequence ^= UInt64(difference)
  case 3: (forged.metadata, forged.secret) = (row.secret, row.metadata)
  case 4:
    forged.identity.tag = storeKeys.tag(
      of: CredentialKey(service: key.service, account: label + "x"))
  case 5: (forged.metadata, forged.secret) = (secret.bytes, secret.bytes)
  default: forged.secret = Array(row.secret.dropLast(1 + changed))
  }
  demand(forged == row || !isOpened(forged, key), "no row is opened that was changed")
  for keys in [otherKeys, otherStore] {
    demand(
      (try? keys.openMetadata(row.metadata.span, as: identity)) == nil
        && (try? keys.openRow(row.secret.span, of: metadata, as: identity)) == nil,
      "nothing is read without the key, or as another store's")
  }
}

private func isOpened(_ row: SealedRow, _ key: CredentialKey) -> Bool {
  (try? storeKeys.openPreserved(
    row.metadata.span, row.secret.span, as: row.identity, foundBy: key)) != nil
}

private let otherKeys = try! StoreKeys(
  master: GuardedKey(copying: [UInt8](repeating: 8, count: 32).span), storeID: storeKeys.storeID)
private let otherStore = try! StoreKeys(
  master: GuardedKey(copying: [UInt8](repeating: 7, count: 32).span),
  storeID: storeKeys.storeID.reversed())

extension [UInt8] {
  fileprivate mutating func change(at offset: Int, by difference: UInt8) {
    self[offset % count] ^= difference
  }
}

extension Secret {
  var bytes: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}
