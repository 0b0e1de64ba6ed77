internal import KistCore
internal import KistTerminal
internal import KistWire

/// A passphrase that the user types, or that is a line of standard input.
enum AskedPassphrase {
  /// The passphrase that opens the storage now.
  case current
  /// A passphrase that opens the storage and stays valid.
  case staying
  /// The new passphrase; typed twice.
  case new
}

extension Terminal {
  /// Returns the requested passphrases, in that order.
  func passphrases(asking kinds: [AskedPassphrase]) throws(StorageError) -> [Secret] {
    if inputIsTerminal {
      return try kinds.map { kind throws(StorageError) in try filled(try ask(kind)) }
    }
    let size = kinds.count * (Limits.passphrase + Secret.longestNewline)
    let passphrases = try input(upTo: size, "the passphrases").lines
    guard passphrases.count <= kinds.count else {
      throw StorageError(
        .badRequest, "there are more lines than passphrases that are asked for",
        hint: "pipe in \(counted(kinds)); give a new one once", outcome: .unchanged)
    }
    guard passphrases.count == kinds.count else {
      throw StorageError(
        .badRequest, kinds.count == 1 ? "the passphrase is missing" : "a passphrase is missing",
        hint: "pipe in \(counted(kinds)), or type it",
        outcome: .unchanged)
    }
    return try passphrases.map(filled)
  }

  private func filled(_ passphrase: Secret) throws(StorageError) -> Secret {
    guard !passphrase.isEmpty else {
      throw StorageError(
        .badRequest, "the passphrase is empty", hint: "nothing was changed; try again",
        outcome: .unchanged)
    }
    return passphrase
  }

  private func counted(_ kinds: [AskedPassphrase]) -> String {
    kinds.count == 1 ? "a line" : "\(kinds.count) lines"
  }

  private func ask(_ kind: AskedPassphrase) throws(StorageError) -> Secret {
    switch kind {
    case .current: return try askHidden("Passphrase: ")
    case .staying: return try askHidden("Passphrase that stays: ")
    case .new: return try newPassphrase(asking: "New passphrase: ", by: askHidden)
    }
  }
}

extension Secret {
  /// Its lines, without their newlines.
  fileprivate var lines: [Secret] {
    var splitter = LineSplitter(limit: count + Secret.longestNewline)
    var lines: [Secret] = []
    withNewline.withBytes { bytes in
      splitter.append(bytes) { event in
        if case .line(let line) = event { lines.append(line.content.withNewline.withoutNewline) }
      }
    }
    return lines
  }
}
