package import KistCore

/// Answers the prompts that ssh, git and sudo send to an askpass program.
///
/// See ssh(1), SSH_ASKPASS; gitcredentials(7); sudo(8).
///
/// The remote end can choose part of the prompt. So the prompt can only cause a refusal; it never
/// selects the secret, which is that of the reference in KIST_ASKPASS.
package func answerAskpass(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    let prompt = try call.words("PROMPT")[0]
    guard call.variable("SSH_ASKPASS_PROMPT") == nil, !isQuestion(prompt) else {
      throw StorageError(
        .denied, "this is a question for the user, and kist does not answer it",
        hint: "answer it at a terminal, or with another program in SSH_ASKPASS")
    }
    guard let text = call.variable("KIST_ASKPASS") else {
      throw .badRequest(
        "KIST_ASKPASS does not name a credential",
        hint: "set it to kist://SERVICE/ACCOUNT")
    }
    let reference = try CredentialReference(text, at: "KIST_ASKPASS")
    // The secret would be shown, and sent as the user name.
    if isForUser(prompt) {
      guard !reference.key.account.isEmpty else {
        throw .badRequest("the prompt asks for a user name, but KIST_ASKPASS names no account")
      }
      return .done(Secret(utf8: reference.key.account).withNewline)
    }
    let secret = try await storage.secret(of: reference.key)
    guard secret.withBytes(isOneLine) else {
      throw .badRequest(
        "the secret contains a line break or a NUL byte, but an answer is one line",
        hint: "save it again without them; `kist save` drops one newline at the end")
    }
    return .done(secret.withNewline)
  } catch {
    return .failed(error)
  }
}

extension UserStorage {
  /// Returns the secret of a credential that the user named, whichever tool saved it.
  fileprivate func secret(of key: CredentialKey) async throws(StorageError) -> Secret {
    do throws(StorageError) { return try await load(key).secret } catch { throw error.orSaveAgain }
  }
}

/// Whether a prompt asks for yes or no, as ssh does for an unknown host.
///
/// Such a prompt contains both words, or one of them in quotes or brackets.
private func isQuestion(_ prompt: String) -> Bool {
  let names = words(of: prompt)
  let choices: [Set<String>] = [["yes", "no"], ["y", "n"], ["yy", "nn"]]
  return choices.contains { $0.isSubset(of: names) }
    || ["(yes", "[yes", "'yes", "\"yes"].contains(where: prompt.lowercased().contains)
}

private func isForUser(_ prompt: String) -> Bool {
  let words = words(of: prompt)
  if prompt.hasPrefix("Username for ") { return true }
  return ["username", "user", "login", "name"].contains(words.last)
    && words.allSatisfy { !["password", "passphrase", "pin"].contains($0) }
}

private func words(of prompt: String) -> [String] {
  prompt.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
}
