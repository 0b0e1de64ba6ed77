internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistTerminal

/// The passphrase that the user is asked for; the raw value is the prompt.
enum AskedPassphrase: String {
  case ofBackup = "Passphrase of the backup: "
  case ofStore = "Passphrase of the store: "
  case ofAdminKey = "Passphrase of the admin key: "
  case ofNewAdminKey = "Passphrase of the new admin key: "
  case recoveryKey = "Recovery key: "
  /// A new passphrase, which is typed twice.
  case newOfStore = "New passphrase of the store: "
  /// A new passphrase, which is typed twice.
  case newOfAdminKey = "New passphrase of the admin key: "
}

/// Reads a passphrase from a descriptor to its end, without one trailing newline, and closes it.
///
/// It asks with hidden input at a terminal, which stays open for the next question. It replaces a
/// standard descriptor with /dev/null, so that no file gets its number. FD_CLOEXEC means that the
/// process did not inherit the descriptor, but opened it itself.
func readPassphrase(
  _ asked: AskedPassphrase = .ofStore, from descriptor: CInt
) throws(StorageError) -> Secret {
  let flags = fcntl(descriptor, F_GETFD)
  guard flags >= 0 else { throw .unreadable(descriptor, systemText(of: errno)) }
  guard flags & FD_CLOEXEC == 0 else {
    throw .unreadable(descriptor, "this descriptor was not open when kistd started")
  }
  let passphrase =
    isatty(descriptor) == 1 ? try ask(asked) : try allOfPassphrase(from: descriptor)
  guard passphrase.count <= Limits.passphrase else {
    throw StorageError(.tooLarge, "the passphrase is longer than \(Limits.passphrase) bytes")
  }
  return passphrase
}

/// Refuses to read two passphrases from one descriptor, unless it is a terminal.
func refuseOneDescriptor(for first: CInt?, and second: CInt?) throws(StorageError) {
  guard let first, first == second, isatty(first) != 1 else { return }
  throw StorageError(
    .badRequest, "both passphrases would be read from descriptor \(first)",
    hint: "use a separate descriptor for each, such as 3 and 4 with 3<FILE 4<FILE")
}

private func ask(_ asked: AskedPassphrase) throws(StorageError) -> Secret {
  let ask = { (prompt) throws(StorageError) in try hiddenLine(asking: prompt, on: "/dev/tty") }
  return [.newOfStore, .newOfAdminKey].contains(asked)
    ? try newPassphrase(asking: asked.rawValue, by: ask) : try ask(asked.rawValue)
}

private func allOfPassphrase(from descriptor: CInt) throws(StorageError) -> Secret {
  defer { StandardDescriptors.close(descriptor) }
  // Space for the newline and for one byte more than the limit.
  let room = Limits.passphrase + Secret.longestNewline + 1
  var bytes = WipedBytes(capacity: room)
  var failure: CInt = 0
  bytes.append(upTo: room) { output in failure = readAll(into: &output, from: descriptor) }
  guard failure == 0 else { throw .unreadable(descriptor, systemText(of: failure)) }
  return Secret(bytes).withoutNewline
}

extension StorageError {
  fileprivate static func unreadable(_ descriptor: CInt, _ why: String) -> StorageError {
    StorageError(
      .badRequest, "cannot read the passphrase from descriptor \(descriptor): \(why)",
      hint: "open it when you start the command: for descriptor 3, with 3<FILE")
  }

  /// The error for a command without a running kistd that could unlock the store.
  var withoutKistd: StorageError {
    guard code == .locked else { return self }
    return .locked(
      message,
      hint:
        "name its key file with --key-file, if it has one; or give its passphrase: with "
        + "`--passphrase-fd 0`, kistd asks for it"
    )
  }
}
