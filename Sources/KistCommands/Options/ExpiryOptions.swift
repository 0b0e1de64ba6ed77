internal import ArgumentParser
internal import KistCore

/// The options for the time when a credential expires.
struct ExpiryOptions: ParsableArguments {
  // Takes the next word as the value even if it begins with a dash, so that the error is about
  // times.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Expire after so long: 90s, 15m, 12h, 90d, 4w.", valueName: "time"))
  var expiresIn: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Expire at a moment (RFC 3339).", valueName: "moment"))
  var expiresAt: String?

  func moment(from now: Timestamp) throws(StorageError) -> Timestamp? {
    switch (expiresIn, expiresAt) {
    case (nil, nil): return nil
    case (let time?, nil):
      return try Lifetime(time, of: "--expires-in").end(from: now)
    case (nil, let text?):
      guard let moment = Timestamp(rfc3339: text) else {
        throw StorageError(
          .badRequest, "--expires-at is not a moment", hint: "write it as 2027-01-31T12:00:00Z")
      }
      return moment
    case (_?, _?):
      throw .badRequest("--expires-in and --expires-at exclude each other")
    }
  }
}
