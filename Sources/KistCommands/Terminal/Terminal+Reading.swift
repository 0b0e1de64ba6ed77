internal import KistCore
internal import KistTerminal
internal import KistWire

extension Terminal {
  /// Reads standard input to its end.
  ///
  /// At a terminal, prints a note first.
  ///
  /// - Parameter limit: the limit that an error mentions.
  func input(upTo size: Int, _ what: String, limit: Int? = nil) throws(StorageError) -> Secret {
    if inputIsTerminal { note("reading \(what) from the terminal; end it with Ctrl-D") }
    return try allPieces(upTo: size, what, limit: limit, readPiece)
  }

  /// Writes an answer to standard output for each line of standard input, until the input ends.
  func answerLines(upTo limit: Int, _ answer: (Secret) async -> Secret) async throws(StorageError) {
    var splitter = LineSplitter(limit: limit)
    while true {
      let piece = try readPiece()
      var events: [LineSplitter.Event] = []
      piece.withBytes { splitter.append($0) { events.append($0) } }
      if piece.isEmpty, let end = splitter.finish() { events.append(end) }
      for event in events {
        switch event {
        case .line(let line): try writeBytes(await answer(line.content))
        case .tooLong: throw .tooLarge("a line of standard input", limit: limit)
        case .unfinished: throw .badRequest("standard input ended in the middle of a line")
        }
      }
      if piece.isEmpty { return }
    }
  }

  /// Returns a secret to save: typed twice, or piped in.
  ///
  /// Removes the newline at the end of piped input if the input is a single line and `exact` is
  /// false. Throws for an empty secret if `exact` is false, because it usually comes from an unset
  /// variable.
  func newSecret(exact: Bool) throws(StorageError) -> Secret {
    let secret = try anySecret(exact: exact)
    guard exact || !secret.isEmpty else {
      throw .refused(
        "the secret is empty",
        hint: "nothing was saved; to save an empty secret, give `--exact`")
    }
    return secret
  }

  private func anySecret(exact: Bool) throws(StorageError) -> Secret {
    guard inputIsTerminal else {
      let limit = Limits.secret + (exact ? 0 : Secret.longestNewline)
      let input = try input(upTo: limit, "the secret", limit: Limits.secret)
      return exact ? input : input.withoutNewlineOfSingleLine
    }
    let secret = try askHidden("Secret: ")
    if secret.isEmpty, !exact { return secret }
    guard try askHidden("Repeat the secret: ") == secret else {
      throw .refused("the two secrets differ", hint: "nothing was saved; try again")
    }
    return secret
  }

  /// Reads the passphrase; returns `nil` only if it is optional and standard input is empty.
  func passphrase(isOptional: Bool) throws(StorageError) -> Secret? {
    let passphrase =
      inputIsTerminal
      ? try askHidden("Passphrase: ")
      : try input(
        upTo: Limits.passphrase + Secret.longestNewline, "the passphrase", limit: Limits.passphrase
      ).withoutNewline
    guard passphrase.isEmpty else { return passphrase }
    guard isOptional else {
      throw .badRequest("the passphrase is empty", hint: "pipe it in, or type it")
    }
    return nil
  }
}

/// A passphrase that the user types, or that is a line of standard input.
enum AskedPassphrase: String {
  case current = "Passphrase: "
  /// A passphrase that opens the storage and stays valid.
  case staying = "Passphrase of a remaining slot: "
  /// The new passphrase; typed twice.
  case new = "New passphrase: "
}

extension Terminal {
  /// Returns the requested passphrases, in that order.
  func passphrases(asking kinds: [AskedPassphrase]) throws(StorageError) -> [Secret] {
    if inputIsTerminal {
      return try kinds.map { kind throws(StorageError) in
        let prompt = kind.rawValue
        return try filled(
          kind == .new ? newPassphrase(asking: prompt, by: askHidden) : askHidden(prompt))
      }
    }
    let size = kinds.count * (Limits.passphrase + Secret.longestNewline)
    let passphrases = try input(upTo: size, "the passphrases").lines
    let counted = kinds.count == 1 ? "a line" : "\(kinds.count) lines"
    guard passphrases.count <= kinds.count else {
      throw .refused(
        "standard input has too many lines",
        hint: "pipe in \(counted); write a new passphrase only once")
    }
    guard passphrases.count == kinds.count else {
      throw .refused(
        kinds.count == 1 ? "the passphrase is missing" : "a passphrase is missing",
        hint: "pipe in \(counted), or type it")
    }
    return try passphrases.map(filled)
  }

  private func filled(_ passphrase: Secret) throws(StorageError) -> Secret {
    guard !passphrase.isEmpty else {
      throw .refused("the passphrase is empty", hint: "nothing was changed; try again")
    }
    return passphrase
  }
}

extension Secret {
  /// The lines without their newlines, with empty lines.
  fileprivate var lines: [Secret] {
    guard !isEmpty else { return [] }
    return withoutNewline.withNewline.withBytes { bytes in
      var (lines, start) = ([Secret](), 0)
      for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
        lines.append(Secret(copying: bytes.extracting(start...index)).withoutNewline)
        start = index + 1
      }
      return lines
    }
  }
}
