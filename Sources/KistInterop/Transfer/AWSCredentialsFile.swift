internal import KistCore

/// Reads `~/.aws/credentials`.
///
/// See AWS SDKs and Tools Reference Guide, "Using shared config and credentials files".
///
/// Imports what `kist helper aws` returns for each profile. Other settings are left out.
func awsCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials()
  var profile: AWSProfile?
  // The indentation of the previous setting; `nil` before the first setting of a profile.
  var indent: Int?
  try text.forEachLine { (line, number) throws(StorageError) in
    let start = line.trimmed.lowerBound
    let line = line.extracting(line.trimmed)
    guard !line.isEmpty, line[0] != UInt8(ascii: "#"), line[0] != UInt8(ascii: ";") else { return }
    // A line with more indentation belongs to the setting above it, which has no secret.
    if let indent, start > indent {
      profile?.hasOtherSettings = true
      return
    }
    if line[0] == UInt8(ascii: "[") {
      try profile?.add(to: &file)
      profile = AWSProfile(name: try profileName(line, number), line: number)
      indent = nil
      return
    }
    indent = start
    guard let equals = line.firstOffset(of: UInt8(ascii: "="), from: 0) else {
      throw .unreadable("there is no equals sign", line: number)
    }
    guard profile != nil else { throw .unreadable("there is no profile above it", line: number) }
    let name = line.extracting(..<equals)
    let value = line.extracting((equals + 1)...)
    try profile?.set(
      String(validating: name.extracting(name.trimmed))?.lowercased(),
      to: Secret(copying: value.extracting(value.trimmed)), number)
  }
  try profile?.add(to: &file)
  return file
}

private func profileName(_ line: Span<UInt8>, _ number: Int) throws(StorageError) -> String {
  guard let end = line.firstOffset(of: UInt8(ascii: "]"), from: 0),
    let name = String(validating: line.extracting(1..<end)), !name.isEmpty
  else { throw .unreadable("there is no profile in the brackets", line: number) }
  return name
}

private struct AWSProfile {
  let name: String
  let line: Int
  var id: String?
  var key: Secret?
  var token: Secret?
  var hasOtherSettings = false

  mutating func set(_ setting: String?, to value: Secret, _ line: Int) throws(StorageError) {
    switch setting {
    case "aws_access_key_id": id = try value.text(of: "the access key id", line: line)
    case "aws_secret_access_key": key = value
    case "aws_session_token": token = value
    default: hasOtherSettings = true
    }
  }

  func add(to file: inout ForeignCredentials) throws(StorageError) {
    guard let id, let key, !id.isEmpty, !key.isEmpty else {
      return file.leaveOut(.withoutAccessKey, at: line)
    }
    func add(_ key: CredentialKey, _ secret: Secret) throws(StorageError) {
      let new = NewCredential(key: key, secret: secret, attributes: Tool.aws.attributes)
      try file.add(new, at: line)
    }
    try add(AWSKeys.key(of: name, id: id), key)
    if let token, !token.isEmpty { try add(AWSKeys.token(of: name, id: id), token) }
    if hasOtherSettings { file.leaveOut(.furtherFields, at: line) }
  }
}
