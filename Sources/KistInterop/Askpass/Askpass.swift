package import KistCore

/// What ssh, git and sudo run to ask a person: ssh(1), SSH_ASKPASS; gitcredentials(7); sudo(8).
///
/// The prompt is partly chosen by whoever is at the other end, so that it is never the reason for an
/// answer, only for none: the secret is that of the reference in KIST_ASKPASS.
package func answerAskpass(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    let prompt = try call.words("PROMPT")[0]
    guard call.variable("SSH_ASKPASS_PROMPT") == nil, !isQuestion(prompt) else {
      throw StorageError(
        .denied, "this is a question for a person, and kist answers none",
        hint: "answer it at a terminal, or with another program in SSH_ASKPASS")
    }
    guard let text = call.variable("KIST_ASKPASS") else {
      throw StorageError(
        .badRequest, "KIST_ASKPASS does not say which credential is meant",
        hint: "set it to kist://SERVICE/ACCOUNT")
    }
    guard let reference = CredentialReference(text) else {
      throw .badReference(at: "KIST_ASKPASS")
    }
    // Git asks for the user first; the secret would be shown, and sent as the user's name.
    if prompt.hasPrefix("Username for ") {
      guard !reference.key.account.isEmpty else {
        throw .badRequest("git asks for a user, and KIST_ASKPASS names no account")
      }
      return .done(Secret(utf8: reference.key.account).withNewline)
    }
    guard let credential = try await usable(reference.key, storage.load) else { throw .notFound }
    guard credential.secret.withBytes(isOneLine) else {
      throw StorageError(
        .badRequest, "the secret has a line break or a NUL in it, and an answer is one line",
        hint: "save it anew without: `kist save` drops one newline at the end")
    }
    return .done(credential.secret.withNewline)
  } catch {
    return .failed(error)
  }
}

/// Whether a prompt asks for yes or no, as ssh's about an unknown host does.
private func isQuestion(_ prompt: String) -> Bool {
  let prompt = prompt.lowercased()
  return ["yes/no", "(y/n", "[y/n", "(yes", "[yes"].contains(where: prompt.contains)
}
