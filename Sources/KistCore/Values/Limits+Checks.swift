// What a request must keep to; each check throws `badRequest` or `tooLarge`.

extension CredentialKey {
  /// Whether requests can be about it: whether it is within the limits of the protocol.
  package var isWithinLimits: Bool { (try? check(self)) != nil }
}

extension NewCredential {
  /// Throws what a storage would, were its secret within the limits: of key, label and attributes.
  package func checkNames() throws(StorageError) { try check(key, label, attributes) }

  /// Whether it is within the limits of the protocol, so that a storage takes it.
  package var isWithinLimits: Bool { (try? check(self)) != nil }
}

extension CredentialSummary {
  /// Whether a save can have left it: whether its key, its label and its attributes are within the
  /// limits of the protocol.
  package var isWithinLimits: Bool { (try? check(key, label, attributes)) != nil }
}

func check(_ credential: NewCredential) throws(StorageError) {
  try check(credential.key, credential.label, credential.attributes)
  try checkSize(credential.secret.count, of: "the secret", limit: Limits.secret)
}

private func check(
  _ key: CredentialKey, _ label: String?, _ attributes: Attributes
) throws(StorageError) {
  try check(key)
  if let label { try checkText(label, "the label", limit: Limits.label) }
  try check(attributes)
}

func check(_ key: CredentialKey) throws(StorageError) {
  try checkService(key.service)
  try checkText(key.account, "the account", limit: Limits.keyPart)
}

func check(_ query: CredentialQuery) throws(StorageError) {
  if let service = query.service { try checkService(service) }
  if let account = query.account {
    try checkText(account, "the account", limit: Limits.keyPart)
  }
  try check(query.attributes)
  guard (1...Limits.page).contains(query.limit) else {
    throw .badRequest("the limit of a page is from 1 to \(Limits.page)")
  }
}

private func checkService(_ service: String) throws(StorageError) {
  if service.isEmpty { throw .badRequest("the service is empty") }
  try checkText(service, "the service", limit: Limits.keyPart)
}

private func check(_ attributes: Attributes) throws(StorageError) {
  guard attributes.count <= Limits.attributes else {
    throw StorageError(
      .tooLarge,
      "there are \(attributes.count) attributes; the limit is \(Limits.attributes)")
  }
  var total = 0
  for (name, value) in attributes.sorted {
    try checkSize(name.utf8.count, of: "an attribute's name", limit: Limits.attributeName)
    guard !name.isEmpty, name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw .badRequest("an attribute's name is not 1 to 64 printable ASCII characters")
    }
    try checkSize(value.utf8.count, of: "an attribute's value", limit: Limits.attributeValue)
    total += name.utf8.count + value.utf8.count
  }
  try checkSize(total, of: "the text of the attributes", limit: Limits.attributesTotal)
}

private func checkText(_ text: String, _ what: String, limit: Int) throws(StorageError) {
  try checkSize(text.utf8.count, of: what, limit: limit)
  guard !text.withBytes(hasControl) else {
    throw .badRequest("\(what) has a control character in it")
  }
}

/// Whether there is C0, DEL or C1 in a text.
///
/// That is all that Unicode will ever call controls: what a terminal would obey and what a C string
/// would end at. In UTF-8, C1 is 0xC2 and its number.
private func hasControl(_ utf8: Span<UInt8>) -> Bool {
  var offset = 0
  // Eight bytes in a step, as long as they are ASCII from 0x20 to 0x7E: nearly every name is.
  while offset + 8 <= utf8.count {
    let word = unsafe utf8.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    let ones: UInt64 = 0x0101_0101_0101_0101
    if (word | (word &+ ones) | (word &- ones &* 0x20)) & (ones &* 0x80) != 0 { break }
    offset += 8
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
