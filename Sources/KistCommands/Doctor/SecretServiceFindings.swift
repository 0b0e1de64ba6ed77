internal import KistCore

extension Host {
  /// Returns which keyring the programs get that use one; nothing without a session bus.
  ///
  /// - Parameter holdsCredentials: Whether kistd keeps its credentials in a keyring.
  func secretServiceFindings(
    _ provider: KeyringProvider?, holdsCredentials: Bool = false
  ) -> [Finding] {
    guard let provider else { return [] }
    let subject = "secrets"
    let programs = "programs that use a keyring, such as gh, VS Code and Python's keyring,"
    let apply = "`kist setup secret-service --apply`"
    let isSetUp = (try? activationFiles()).map { files in
      ActivationFiles.names.map { files.state(of: $0, in: self) }
    }
    let isCurrent = isSetUp?.allSatisfy { $0 == .current } ?? false
    switch (provider.owner, provider.startable) {
    case (.kist(let pid), _):
      let served = "\(programs) get kist's credentials, from kist-secret-service (process \(pid))"
      guard !isCurrent else { return [.ok(subject, served)] }
      return [
        .note(
          subject, "\(served); but the session bus would not start it again", hint: apply)
      ]
    case (.other(let running), .kist):
      return [
        .note(
          subject,
          "\(programs) get the keyring of \(running.name), although kist is set up for them",
          hint: holdsCredentials
            ? "kistd keeps your credentials in that keyring: `kist setup secret-service --undo`"
            : running.hintToEnd)
      ]
    case (.other(let running), _):
      return [.ok(subject, "\(programs) get the keyring of \(running.name)")]
    case (nil, .kist):
      guard !isCurrent else {
        return [.ok(subject, "\(programs) get kist's credentials; the session bus starts it")]
      }
      return [
        .note(
          subject, "the files that start kist-secret-service are not those of this kist",
          hint: "write them again: \(apply)")
      ]
    case (nil, .other):
      return [.ok(subject, "\(programs) get another keyring, which the session bus starts")]
    case (nil, nil):
      let hint =
        secretServiceProgram == nil
        ? "install kist-secret-service in the directory of kist; then run \(apply)"
        : "to give them kist's credentials: \(apply)"
      return [.note(subject, "\(programs) find none", hint: hint)]
    }
  }
}
