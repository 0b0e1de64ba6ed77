package import KistCore

/// Asks for a new passphrase twice, or once if nothing is typed; `ask` asks for a hidden line.
///
/// It is typed twice because nothing can check it yet.
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
