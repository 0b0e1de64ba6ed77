import KistCore
import KistSodium

@testable import KistFile
@testable import KistVault

/// The parts of a store that are decoded: slots, header, metadata, names, padding.
let formats = Target("formats") { input in
  var input = input
  let part = input.choice(of: 8)
  switch part {
  case 0: checkSlot(input.rest)
  case 1:
    checkSlot(withChecksum(input.rest))
    checkSlot(withChecksum(input.rest, size: input.rest.count))
  case 2: checkMetadata(input.rest)
  case 3: checkHeader(input.rest)
  case 4: checkNames(input.rest)
  case 5: checkPadding(input.rest)
  case 6: checkCursor(input.rest)
  default: checkSlots(&input)
  }
}

private let storeID = [UInt8](0..<16)
let storeKeys = try! StoreKeys(
  master: GuardedKey(copying: [UInt8](repeating: 7, count: 32).span), storeID: storeID)
/// A fixed value, so that the same input has the same result.
let fixedNonce = [UInt8](repeating: 9, count: SymmetricKey.nonceSize)

private func checkSlot(_ bytes: [UInt8]) {
  guard let slot = try? KeySlot(decoding: bytes, number: 1, storeID: storeID) else { return }
  demand(slot.encoded(storeID: storeID) == bytes, "a slot is written as it was read")
  if case .passphrase(let cost, _) = slot.kind { demand(cost.isAcceptable, "a cost is bounded") }
  let master = try? slot.unwrap(with: storeKeys.headerKey, storeID: storeID)
  demand(master.map { _ in false } ?? true, "a slot is not unwrapped with another key")
}

/// Returns a body with its checksum; its size is by default that of a slot of a known kind.
private func withChecksum(_ bytes: [UInt8], size: Int = 100) -> [UInt8] {
  let body = Array((bytes + [UInt8](repeating: 0, count: size)).prefix(size))
  let bound = storeID + [1, 0, 0, 0] + body
  return body + blake2b(bound.span, count: 16)
}

private func checkSlots(_ input: inout Input) {
  var slots: [KeySlot] = []
  while !input.isEmpty {
    let body = withChecksum([2, 0, 0, 0] + input.bytes(8))
    if let slot = try? KeySlot(decoding: body, number: 1, storeID: storeID) { slots.append(slot) }
  }
  guard (try? KeySlot.checkTotalCost(of: slots)) != nil else { return }
  let work = slots.reduce(0 as UInt64) { sum, slot in
    if case .passphrase(let cost, _) = slot.kind { sum + cost.work } else { sum }
  }
  demand(slots.count <= 8 && work <= KDFCost.greatest.work, "all slots together are bounded")
}

private func checkMetadata(_ bytes: [UInt8]) {
  checkFields(bytes)
  guard let metadata = try? Metadata(decoding: bytes.span) else { return }
  let again = metadata.encoded().withBytes { try? Metadata(decoding: $0) }
  demand(again == metadata, "metadata are read as they were written")
  let preserved = try? Metadata.preserved(decoding: bytes.span, foundBy: metadata.key)
  demand(
    preserved?.createdAt == metadata.createdAt && preserved?.fields == metadata.fields
      && preserved?.secretHasFields == metadata.secretHasFields,
    "a part of metadata is read as the whole")
}

private func checkFields(_ bytes: [UInt8]) {
  var secret = WipedBytes()
  secret.append(bytes.span)
  if (try? secret.removeFields()) != nil {
    demand(secret.count < bytes.count, "fields need space")
  }
  guard let fields = try? Fields(decoding: bytes.span) else { return }
  demand(fields.bytes.bytes == bytes && bytes.count <= Fields.mostBytes, "fields are kept whole")
  var behind = WipedBytes()
  behind.append(fixedNonce.span)
  behind.appendWithSize(fields)
  demand((try? behind.removeFields()) == fields, "fields after a secret are returned unchanged")
  demand(Secret(behind).bytes == fixedNonce, "a secret ends before its fields")
}

private func checkHeader(_ bytes: [UInt8]) {
  demand((try? storeKeys.openHeader(bytes)) == nil, "no header is opened that was not sealed")
  let data = StoreFormat.associatedData(of: .header, storeID: storeID)
  let sealed = storeKeys.headerKey.seal(bytes.span, for: data.span, nonce: fixedNonce)
  guard let header = try? storeKeys.openHeader(sealed) else { return }
  demand(storeKeys.seal(header, nonce: fixedNonce) == sealed, "a header is written as it was read")
}

private func checkNames(_ bytes: [UInt8]) {
  let text = Array("text".utf8)
  demand(
    (try? storeKeys.openNames(bytes.span, boundTo: text.span)) == nil,
    "no names are opened that were not sealed")
  let data = StoreFormat.associatedData(of: .names, storeID: storeID) + text
  let sealed = storeKeys.nameKey.seal(bytes.span, for: data.span, nonce: fixedNonce)
  guard let names = try? storeKeys.openNames(sealed.span, boundTo: text.span) else { return }
  let again = seal(names, boundTo: text)
  demand(
    (try? storeKeys.openNames(again.span, boundTo: text.span)) == names,
    "names are read as they were written")
  demand(
    (try? storeKeys.openNames(again.span, boundTo: fixedNonce.span)) == nil,
    "names are bound to where they stand")
}

private func seal(_ names: RequestedNames, boundTo text: [UInt8]) -> [UInt8] {
  var sealing = try! NameSealing(storeKeys, nonce: fixedNonce)
  var sealed = WipedBytes()
  sealing.seal(names, boundTo: text.span, into: &sealed)
  return Secret(sealed).bytes
}

private func checkPadding(_ bytes: [UInt8]) {
  var padded = WipedBytes()
  padded.append(bytes.span)
  padded.pad()
  demand(padded.count == paddedSize(bytes.count + 4), "padded bytes have the specified size")
  try! padded.unpad()
  demand(Secret(padded) == Secret(copying: bytes), "padding is removed completely")
  var raw = WipedBytes()
  raw.append(bytes.span)
  if (try? raw.unpad()) != nil { demand(raw.count < bytes.count, "padding needs space") }
}

private func checkCursor(_ bytes: [UInt8]) {
  let text = String(decoding: bytes, as: UTF8.self)
  for service in [nil, "service"] {
    let query = CredentialQuery(service: service, after: text)
    guard let cursor = try? Cursor(query, storeKeys) else { continue }
    demand(Cursor.text(of: cursor.address) == text, "a cursor is written as it was read")
  }
}
