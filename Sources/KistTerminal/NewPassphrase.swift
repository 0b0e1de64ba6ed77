package import KistCore

/// A passphrase that nothing knows yet, and so is typed twice, unless nothing is typed; `ask` asks for a
/// line that is not shown.
package func newPassphrase(
  asking question: String, by ask: (String) throws(StorageError) -> Secret
) throws(StorageError) -> Secret {
  let passphrase = try ask(question)
  if passphrase.isEmpty { return passphrase }
  guard try ask("Once more: ") == passphrase else {
    throw StorageError(
      .badRequest, "the two passphrases differ", hint: "nothing was changed; try again",
      outcome: .unchanged)
  }
  return passphrase
}
