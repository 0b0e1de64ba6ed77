internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

extension Setup {
  /// Shows or writes the files that make the session bus start kist-secret-service, or removes them.
  func setUpSecretService(_ terminal: Terminal, in host: Host) throws(StorageError) {
    let files = try host.activationFiles()
    if undo { return try remove(files, terminal, in: host) }
    let provider = host.keyringProvider()
    let obstacle = obstacle(to: files, replacing: provider, in: host)
    // Without a change, kist does not show the text of files that it seems to write.
    if apply, let obstacle { throw obstacle }
    for name in ActivationFiles.names {
      terminal.writeErrorLines(["in \(files.path(of: name)):"])
      try terminal.writeLines(files.text(of: name).split(separator: "\n").map(String.init))
    }
    if let obstacle { terminal.report(obstacle, asJSON: false) }
    guard apply else { return }
    if isDone(files, in: host) {
      terminal.note("the session bus starts kist-secret-service already")
    } else {
      for name in ActivationFiles.names {
        let path = files.path(of: name)
        guard makeDirectory(directory(of: path)) else { throw notWritten(errno) }
        let isReplacing = files.state(of: name, in: host) != .missing
        var file = try NewFile(for: path, replacing: isReplacing)
        try file.append(Secret(utf8: files.text(of: name)))
        try file.finish()
      }
      let isRead = reloadBus(terminal, in: host)
      let start =
        if !isRead { "after the next login" } else if case .other = provider?.owner { "soon" } else
        {
          "now"
        }
      try terminal.reportSuccess(
        "programs that use a keyring get the credentials of kist \(start)"
          + (files.hasUnit ? "" : ", while kistd runs"))
    }
    if !files.hasUnit {
      terminal.note(
        "without systemd, kist-secret-service does not start kistd",
        hint: "run `kistd --detach`, now and after each start of the machine")
    }
    if case .other(let running) = provider?.owner {
      terminal.note(
        "\(running.name) provides the keyring until it ends, and kist from then on",
        hint: running.hintToEnd)
    }
  }

  private func isDone(_ files: ActivationFiles, in host: Host) -> Bool {
    ActivationFiles.names.allSatisfy { files.state(of: $0, in: host) == .current }
  }

  /// Returns the reason why kist does not write the files; `nil` if there is none.
  private func obstacle(
    to files: ActivationFiles, replacing provider: KeyringProvider?, in host: Host
  ) -> StorageError? {
    do throws(StorageError) {
      try check(files, in: host)
      try checkThatKistdNeedsNone(of: provider, in: host)
      // What is set up already hides nothing more.
      if !hideKeyring, !isDone(files, in: host) {
        try checkThatNothingIsHidden(by: provider, in: host)
      }
      return nil
    } catch {
      return error
    }
  }

  /// Refuses to replace a file that kist did not write.
  private func check(_ files: ActivationFiles, in host: Host) throws(StorageError) {
    for name in ActivationFiles.names {
      let path = files.path(of: name)
      switch files.state(of: name, in: host) {
      case .missing, .current, .outdated: break
      case .foreign:
        throw .refused(
          "kist did not write \(path), and did not change it", as: .conflict,
          hint: "check what it starts, and move it away")
      case .unreadable(let reason):
        throw .refused(
          "\(path) \(reason); it was not changed", as: .denied, hint: "move it away")
      }
    }
  }

  /// Refuses if kistd keeps its credentials in another keyring, which it could no longer reach.
  private func checkThatKistdNeedsNone(
    of provider: KeyringProvider?, in host: Host
  ) throws(StorageError) {
    switch provider?.owner {
    case .kist: return
    case .other: break
    // The diagnosis would start a keyring, even one that was never used.
    case nil: guard host.keyringFile != nil else { return }
    }
    guard let diagnosis = host.diagnosis(),
      let keyring = diagnosis.external.first(where: { $0.probe != .open(hasCredentials: false) })
    else { return }
    // While kistd runs, only that kistd says which storage it uses.
    guard let storage = (try? diagnosis.choice.get())?.storage ?? host.servedStorage() else {
      throw .refused(
        "kist would take the place of the \(keyring.label), and cannot find out whether kistd keeps "
          + "your credentials there, because kistd does not answer or cannot start",
        as: .conflict,
        hint: "run `kist doctor`, mend what it reports, and run this command again")
    }
    guard storage == keyring.storage else { return }
    throw .refused(
      "kist would take the place of the \(keyring.label), where kistd keeps your credentials",
      as: .conflict,
      hint: "stop kistd, run `kistd migrate --to encrypted-file`, and then this command again")
  }

  /// Refuses if another keyring has items, which programs would no longer find.
  private func checkThatNothingIsHidden(
    by provider: KeyringProvider?, in host: Host
  ) throws(StorageError) {
    let hint =
      "import what kist can: `kist import keyring`, which names the items of programs that it does "
      + "not know; then run this command with --hide-keyring"
    switch provider?.owner {
    case .kist: return
    case .other(let running):
      guard let items = running.items, let locked = running.lockedItems else {
        throw .refused(
          "\(running.name) provides a keyring, and kist cannot read how many items it has",
          as: .conflict, hint: hint)
      }
      guard items + locked > 0 else { return }
      let count = items + locked == 1 ? "1 item" : "\(items + locked) items"
      throw .refused(
        "\(running.name) provides a keyring with \(count), which programs would no longer find",
        as: .conflict, hint: hint)
    case nil:
      guard let path = host.keyringFile else { return }
      throw .refused(
        "there is a keyring in \(path), which programs would no longer find", as: .conflict,
        hint: hint)
    }
  }

  /// Removes the files that kist wrote; removes none if kist did not write one of them.
  private func remove(
    _ files: ActivationFiles, _ terminal: Terminal, in host: Host
  ) throws(StorageError) {
    try check(files, in: host)
    let written = ActivationFiles.names.filter { files.state(of: $0, in: host) != .missing }
    guard !written.isEmpty else { return terminal.note("there is nothing to undo") }
    for name in written {
      guard unsafe unlink(files.path(of: name)) == 0 else {
        throw StorageError(
          StorageError.Code(failure: errno),
          "\(files.path(of: name)) cannot be removed: \(systemText(of: errno))",
          hint: "remove it")
      }
    }
    reloadBus(terminal, in: host)
    try terminal.reportSuccess("the session bus no longer starts kist-secret-service")
    if let other = host.otherKeyringFile {
      terminal.note(
        "for programs that use a keyring, the session bus starts the program in \(other) again")
    } else {
      terminal.note("no other program is set up to provide a keyring")
    }
    if case .kist(let pid) = host.keyringProvider()?.owner {
      terminal.note(
        "kist-secret-service still runs", hint: "end it: `kill \(pid)`")
    }
  }

  /// Makes the session bus read its files again, which it does by itself only in some directories; returns
  /// whether it did.
  @discardableResult
  private func reloadBus(_ terminal: Terminal, in host: Host) -> Bool {
    let command = [
      "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus",
      "/org/freedesktop/DBus", "org.freedesktop.DBus.ReloadConfig",
    ]
    guard host.lines(command).isEmpty else { return true }
    terminal.note(
      "the session bus did not read the change, or there is none in this session",
      hint:
        "log in to a session with a session bus, or run there: `\(command.joined(separator: " "))`")
    return false
  }
}

extension KeyringProvider.Running {
  /// The program and its process for the user.
  var name: String { (program ?? "another program") + " (process \(pid))" }

  var hintToEnd: String {
    "end it: `kill \(pid)`; `man kist-secret-service` shows how to keep it from starting at the next login"
  }
}

extension Host {
  /// Returns the storage of the running kistd; `nil` if none answers.
  fileprivate func servedStorage() -> String? {
    lines([program, "status", "--json"]).first.flatMap { StorageStatus($0) }?.storage
  }

  /// A file of gnome-keyring or KWallet, neither of which need run now.
  fileprivate var keyringFile: String? {
    guard let data = dataHome else { return nil }
    for (folder, end) in [("keyrings", ".keyring"), ("kwalletd", ".kwl")] {
      let found = names("\(data)/\(folder)").sorted().first { $0.hasSuffix(end) }
      if let found { return "\(data)/\(folder)/\(found)" }
    }
    return nil
  }
}
