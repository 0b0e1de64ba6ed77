internal import ArgumentParser
internal import KistClient
internal import KistWire

struct ConditionOptions: ParsableArguments {
  @Flag(help: "Save only if there is no such credential.")
  var ifAbsent = false

  @Option(help: ArgumentHelp("Save only if it is at this revision.", valueName: "revision"))
  var ifRevision: String?

  func condition() throws(StorageError) -> Condition {
    guard let ifRevision else { return ifAbsent ? .ifAbsent : .always }
    guard !ifAbsent else { throw .badRequest("--if-absent and --if-revision cannot be combined") }
    return .ifRevision(Revision(rawValue: ifRevision))
  }
}

struct ExpiryOptions: ParsableArguments {
  // Takes the next word as the value even if it begins with a dash. So `--expires-in -1d` fails
  // as an invalid time, not as a missing value.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Expire after this time: 30s, 15min, 12h, 90d, 4w.", valueName: "time"))
  var expiresIn: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Expire at this time (RFC 3339).", valueName: "moment"))
  var expiresAt: String?

  func moment(from now: Timestamp) throws(StorageError) -> Timestamp? {
    guard let expiresAt else { return try TimeSpan(expiresIn, of: "--expires-in")?.end(from: now) }
    guard expiresIn == nil else {
      throw .badRequest("--expires-in and --expires-at cannot be combined")
    }
    guard let moment = Timestamp(rfc3339: expiresAt) else {
      throw .badRequest(
        "--expires-at is not a date and time", hint: "write it as 2027-01-31T12:00:00Z")
    }
    return moment
  }
}

/// The options that remove fields of the stored credential, which a save otherwise keeps.
struct KeepOptions: ParsableArguments {
  @Flag(help: "Remove the stored label.")
  var noLabel = false

  @Flag(help: "Remove the stored attributes that are not given.")
  var noAttributes = false

  @Flag(help: "Remove the stored expiry.")
  var noExpiry = false

  @Flag(help: "Remove the stored label, attributes and expiry that are not given.")
  var replace = false

  /// Returns the stored fields to keep: all, unless an option removes them.
  func fields(
    besides label: String?, _ expiresAt: Timestamp?, _ condition: Condition
  ) throws(StorageError) -> KeptFields {
    guard !noLabel || label == nil else {
      throw .badRequest("--label and --no-label cannot be combined")
    }
    guard !noExpiry || expiresAt == nil else {
      throw .badRequest("--no-expiry cannot be combined with an expiry")
    }
    // If the credential must not exist yet, there are no stored fields to keep.
    if replace || condition == .ifAbsent { return [] }
    var fields = KeptFields.all
    if noLabel { fields.remove(.label) }
    if noAttributes { fields.remove(.attributes) }
    if noExpiry { fields.remove(.expiresAt) }
    return fields
  }
}

struct SecretOptions: ParsableArguments {
  @Flag(help: "Save standard input exactly, also the newline of a single line.")
  var exact = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Save a random secret of 8 to 1024 letters and digits.", valueName: "length"))
  var generate: String?

  @Flag(help: "Do not ask before a generated secret replaces a stored one.")
  var yes = false

  /// Throws for invalid options.
  func check() throws(StorageError) {
    _ = try length()
    guard generate != nil || !yes else {
      throw .badRequest("--yes needs --generate", hint: "other saves do not ask")
    }
  }

  /// Asks the user before a generated secret replaces one that is in use; returns whether it asked.
  func confirm(
    replacing stored: CredentialSummary, at terminal: Terminal
  ) throws(StorageError) -> Bool {
    guard generate != nil, !yes, !stored.isExpired(at: terminal.now()) else { return false }
    try terminal.confirm(
      "A secret was saved here at \(stored.modifiedAt). Replace it with a random one?",
      orElse: "nothing was saved", hint: "to keep both, save the new one under another account")
    return true
  }

  /// Returns the secret: typed, piped in, or generated here.
  func secret(from terminal: Terminal) throws(StorageError) -> Secret {
    guard let length = try length() else { return try terminal.newSecret(exact: exact) }
    return randomSecret(length: length)
  }

  /// Returns the length of the secret to generate; `nil` if none is to be generated.
  private func length() throws(StorageError) -> Int? {
    guard let generate else { return nil }
    guard !exact else { throw .badRequest("--exact and --generate cannot be combined") }
    guard let length = Int(generate), (8...1024).contains(length) else {
      throw .badRequest("--generate is not a length from 8 to 1024")
    }
    return length
  }
}

/// Returns a random secret of letters and digits, from the system's generator (getrandom(2)).
///
/// Each of the 62 characters has the same probability. So a character adds 5.95 bits of entropy,
/// and 22 characters have more than 128 bits.
private func randomSecret(length: Int) -> Secret {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
  var bytes = WipedBytes(capacity: length)
  // `randomElement` rejects values that would make some characters more likely than others.
  for _ in 0..<length { bytes.append(alphabet.randomElement()!) }
  return Secret(bytes)
}
