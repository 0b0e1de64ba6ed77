// The checks of requests against the limits. Each throws `badRequest` or `tooLarge`.

extension CredentialKey {
  /// Whether the key is within the limits of the protocol.
  package var isWithinLimits: Bool { (try? check(self)) != nil }
}

extension NewCredential {
  /// Checks the key, the label and the attributes, but not the size of the secret.
  package func checkNames() throws(StorageError) {
    try check(key)
    try check(label, attributes)
  }

  /// Whether the credential is within the limits of the protocol, so that a storage accepts it.
  package var isWithinLimits: Bool { (try? check(self)) != nil }
}

extension CredentialSummary {
  /// Whether the key, the label and the attributes are within the limits of the protocol.
  ///
  /// A value that exceeds them was not saved through the protocol.
  package var isWithinLimits: Bool { key.isWithinLimits && areWithinLimits(label, attributes) }
}

/// Returns whether a label and attributes are within the limits of the protocol.
package func areWithinLimits(_ label: String?, _ attributes: Attributes) -> Bool {
  (try? check(label, attributes)) != nil
}

func check(_ credential: NewCredential) throws(StorageError) {
  try credential.checkNames()
  try checkSize(credential.secret.count, of: "the secret", limit: Limits.secret)
}

private func check(_ label: String?, _ attributes: Attributes) throws(StorageError) {
  if let label { try checkText(label, "the label", limit: Limits.label) }
  try check(attributes)
}

func check(_ key: CredentialKey) throws(StorageError) {
  try checkService(key.service)
  try checkAccount(key.account)
}

func check(_ query: CredentialQuery) throws(StorageError) {
  if let service = query.service { try checkService(service) }
  if let account = query.account { try checkAccount(account) }
  try check(query.attributes)
  guard (1...Limits.page).contains(query.limit) else {
    throw .badRequest("the limit of a page is from 1 to \(Limits.page)")
  }
}

private func checkService(_ service: String) throws(StorageError) {
  if service.isEmpty { throw .badRequest("the service is empty") }
  try checkText(service, "the service", limit: Limits.keyPart)
}

private func checkAccount(_ account: String) throws(StorageError) {
  try checkText(account, "the account", limit: Limits.keyPart)
}

private func check(_ attributes: Attributes) throws(StorageError) {
  guard attributes.count <= Limits.attributes else {
    throw StorageError(
      .tooLarge, "there are \(attributes.count) attributes; the limit is \(Limits.attributes)")
  }
  var total = 0
  // A span avoids copies and their reference counts: each load checks attributes.
  let sorted = attributes.sorted.span
  for index in sorted.indices {
    let (name, value) = sorted[index]
    if name.isEmpty { throw .badRequest("an attribute's name is empty") }
    try checkText(name, "an attribute's name", limit: Limits.attributeName)
    try checkSize(value.utf8.count, of: "an attribute's value", limit: Limits.attributeValue)
    total += name.utf8.count + value.utf8.count
  }
  try checkSize(total, of: "the text of the attributes", limit: Limits.attributesTotal)
}

private func checkText(_ text: String, _ what: String, limit: Int) throws(StorageError) {
  try checkSize(text.utf8.count, of: what, limit: limit)
  if text.withBytes(hasControl) { throw .badRequest("\(what) has a control character in it") }
}

/// Returns whether a text contains a control character: C0, DEL or C1.
///
/// Unicode will never add other ones. A terminal obeys them, and a C string ends at NUL. In UTF-8,
/// a C1 character is the byte 0xC2, followed by a byte that is the number of the character.
private func hasControl(_ utf8: Span<UInt8>) -> Bool {
  var offset = 0
  // Nearly every name is ASCII from 0x20 to 0x7E, so this checks eight bytes at a time. The last
  // step moves back so that it still has eight bytes.
  while offset + 8 <= utf8.count, EightBytes(utf8, from: offset).arePrintable { offset += 8 }
  if utf8.count >= 8, utf8.count - offset < 8,
    EightBytes(utf8, from: utf8.count - 8).arePrintable
  {
    return false
  }
  var last: UInt8 = 0
  while offset < utf8.count {
    let byte = utf8[offset]
    if byte < 0x20 || byte == 0x7F || (last == 0xC2 && byte < 0xA0) { return true }
    last = byte
    offset += 1
  }
  return false
}

private func checkSize(_ size: Int, of what: String, limit: Int) throws(StorageError) {
  if size > limit { throw .tooLarge(what, limit: limit, size: size) }
}
