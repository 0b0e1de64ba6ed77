internal import KistCore

extension Terminal {
  /// Returns a secret to save: typed twice, or piped in.
  ///
  /// Removes one newline at the end of piped input, unless `exact` is true. An empty secret also
  /// needs `exact`: usually it comes from an unset variable, and it would replace the stored
  /// secret.
  func newSecret(exact: Bool) throws(StorageError) -> Secret {
    let secret = try anySecret(exact: exact)
    guard exact || !secret.isEmpty else {
      throw StorageError(
        .badRequest, "the secret is empty",
        hint: "nothing was saved; an empty secret is saved with `--exact` only",
        outcome: .unchanged)
    }
    return secret
  }

  private func anySecret(exact: Bool) throws(StorageError) -> Secret {
    guard inputIsTerminal else {
      let limit = Limits.secret + (exact ? 0 : Secret.longestNewline)
      let input = try input(upTo: limit, "the secret", limit: Limits.secret)
      return exact ? input : input.withoutNewline
    }
    let secret = try askHidden("Secret: ")
    if secret.isEmpty, !exact { return secret }
    guard try askHidden("Once more: ") == secret else {
      throw StorageError(
        .badRequest, "the two secrets differ", hint: "nothing was saved; try again",
        outcome: .unchanged)
    }
    return secret
  }

  /// Returns the passphrase of the storage: typed, or piped in without its newline.
  func passphrase() throws(StorageError) -> Secret {
    let passphrase =
      inputIsTerminal
      ? try askHidden("Passphrase: ")
      : try input(
        upTo: Limits.passphrase + Secret.longestNewline, "the passphrase", limit: Limits.passphrase
      ).withoutNewline
    guard !passphrase.isEmpty else {
      throw StorageError(
        .badRequest, "the passphrase is empty",
        hint: "pipe it in, or type it")
    }
    return passphrase
  }
}
