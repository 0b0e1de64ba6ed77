internal import ArgumentParser
internal import KistCore

/// When a credential ceases to be handed out.
struct ExpiryOptions: ParsableArguments {
  // What follows is the value even with a dash before it, so that the answer is about times.
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
