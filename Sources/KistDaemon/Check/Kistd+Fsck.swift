internal import ArgumentParser
internal import KistCore
internal import KistFile
internal import KistJSON
internal import KistReplica
internal import KistSystem

struct FsckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd fsck",
    abstract:
      "Look for damage in the encrypted file, or in the copy of a shared vault; kistd must not be running. Changes nothing.",
    usage: "kistd fsck [--salvage DIRECTORY] [OPTIONS]")

  @Option(help: .value("directory", "Copy intact credentials into a new store in this directory."))
  var salvage: String?

  @OptionGroup var output: JSONOption

  @OptionGroup var store: StoreOptions
}

/// Runs `kistd fsck`: reports damage in the encrypted file, and returns the exit status.
///
/// - 0: nothing is wrong.
/// - 10: something is wrong.
/// - 5 or 11: nothing wrong was found, but the key was not available.
func fsck(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(FsckCommand.self, arguments)
  if command.salvage == "" {
    throw .wrongUsage("--salvage is empty; it must be a path", of: FsckCommand.self)
  }
  let options = try command.options(environment: environment) { $0.store = command.store }
  // A damaged record of the storage does not prevent a check of the encrypted file.
  let kind = options.storage ?? (try? PinFile(path: options.pinFile).read())?.kind
  let report: FsckReport
  do throws(StorageError) {
    if kind == .shared {
      guard command.salvage == nil else { throw .noSalvageOfCopy }
      report = try FsckReport(ofCopy: options)
      return command.finish(report)
    }
    // These come first, so that the user does not type a passphrase in vain.
    try EncryptedFile.requireStore(at: options.storePath)
    try EncryptedFile.checkIsClosed(at: options.storePath)
    report = try FsckReport(
      of: options.storePath, keySource: try EncryptedFile.KeySource(options),
      progress: EncryptedFile.ProgressOptions(options, logger: .kistd(level: options.logLevel)),
      salvage: command.salvage)
  } catch {
    if error.code == .notFound {
      _ = try PinFile(path: options.pinFile)
        .read(of: .encryptedFile, orElse: "name the directory of a store with --data")
    }
    throw error
  }
  return command.finish(report)
}

extension FsckCommand {
  /// Prints a report, and returns the exit status.
  fileprivate func finish(_ report: FsckReport) -> CInt {
    if output.json { printJSON(report.json) } else { report.lines.forEach(printLine) }
    return report.exitStatus
  }
}

extension StorageError {
  fileprivate static let noSalvageOfCopy = badRequest(
    "--salvage is for the encrypted file, and not for the copy of a shared vault",
    hint: "other machines of the vault have the same credentials; nothing was changed")
}

extension FsckReport {
  /// Examines this machine's copy of a shared vault, and the note beside it.
  fileprivate init(ofCopy options: Options) throws(StorageError) {
    let path = options.copyPath
    guard fileStatus(ofLink: path) != nil else { throw .notJoined }
    try EncryptedFile.checkIsClosed(at: path)
    var examination = try EncryptedFile.examine(path: path, keySource: options.ofCopy.keySource)
    if examination.locked == nil {
      do throws(StorageError) {
        let machine = try ReplicaOptions(machineKey: options.machineKey).machine
        _ = try SharedVault.machines(in: EncryptedFile.note(ofCopy: path), of: machine)
      } catch { examination.faults.append(.init(part: .files, message: error.message)) }
    }
    self.init(store: path, examination: examination)
    damageHint =
      "move the copy and its note (\(path), and the files whose names begin with it) away, and join the "
      + "vault again with the line from its admin: `kistd vault join LINE`"
  }

  /// Examines a store, and salvages its undamaged part into a directory if one is given.
  fileprivate init(
    of store: String, keySource: EncryptedFile.KeySource,
    progress: EncryptedFile.ProgressOptions?, salvage directory: String?
  ) throws(StorageError) {
    guard let directory else {
      self.init(
        store: store,
        examination: try EncryptedFile.examine(
          path: store, keySource: keySource, progress: progress))
      return
    }
    var options = EncryptedFile.Options(
      path: directory + "/credentials.db", keySource: keySource, progress: progress)
    // The passphrase of the damaged store opens the new one.
    options.allowsWeakPassphrase = true
    do throws(StorageError) {
      let salvage = try EncryptedFile.salvage(path: store, keySource: keySource, to: options)
      self.init(
        store: store, examination: salvage.examination,
        copies: Copies(
          count: salvage.copied, leftOut: salvage.leftOut, directory: directory))
    } catch { throw error.withoutKistd }
  }
}

struct FsckReport {
  struct Copies {
    var count: Int
    var leftOut: Int
    var directory: String
  }

  var store: String
  var examination: EncryptedFile.Examination
  var copies: Copies?
  /// What to do about damage, if it is not the encrypted file; `nil` for the usual advice.
  var damageHint: String?

  enum State: String {
    case whole, damaged, older, locked
  }

  var state: State {
    if examination.faults.contains(where: { $0.part != .progress }) { return .damaged }
    if !examination.faults.isEmpty { return .older }
    return examination.locked == nil ? .whole : .locked
  }

  /// The exit status; 0 also if salvaging lost nothing.
  var exitStatus: CInt {
    switch state {
    case .whole: 0
    case .damaged, .older:
      copies?.leftOut == 0 && examination.isComplete ? 0 : StorageError.Code.corrupt.exitStatus
    case .locked: (examination.locked?.code ?? .locked).exitStatus
    }
  }

  var lines: [String] {
    var lines = [head]
    lines += examination.faults.map { fault in
      "- \(fault.part.rawValue): "
        + (fault.key.map { "\(CredentialReference($0)): " } ?? "") + fault.message
    }
    lines += notes.map { "- note: \($0)" }
    if let locked = examination.locked {
      lines.append("encrypted data was not checked: \(locked.message)")
      if locked.code != .corrupt, let hint = locked.withoutKistd.hint {
        lines.append("hint: \(hint)")
      }
    }
    if let copies { return lines + advice(copies) }
    if state == .older { lines += examination.faults.compactMap(\.hint).map { "hint: \($0)" } }
    if state == .damaged {
      let salvaging =
        ", or copy intact credentials into a new store: add `--salvage DIRECTORY` to this command"
      lines += [
        "nothing was changed",
        "hint: "
          + (damageHint
            ?? "restore the store from a backup" + (examination.good > 0 ? salvaging : "")),
      ]
    }
    return lines
  }

  /// Remarks that are not faults.
  var notes: [String] {
    let slots = examination.unknownSlots.map {
      "key slot \($0) is of a kind that this kistd does not know"
    }
    if examination.extended == 0 { return slots }
    let count = counted(examination.extended)
    return slots
      + ["a later version of kist added data to \(count), and this kistd does not know that data"]
  }

  private var head: String {
    let found = counted(examination.found)
    return switch state {
    case .whole: "\(store) is intact: \(found)"
    case .older: "\(store) is intact, but kistd refuses it, because it is an older copy: \(found)"
    case .locked: "\(store) shows no damage, but was not decrypted: \(found)"
    case .damaged where examination.locked != nil: "\(store) is damaged: \(found) found"
    case .damaged where examination.counted == nil:
      "\(store) is damaged: \(examination.good) of \(found) intact; the original number is "
        + "unknown"
    case .damaged:
      "\(store) is damaged: \(examination.good) of "
        + "\(counted(max(examination.found, examination.counted ?? 0))) intact"
    }
  }

  /// Returns the advice on how to continue after salvaging a store.
  private func advice(_ copies: Copies) -> [String] {
    let new = copies.directory + "/credentials.db"
    var lines = ["copied \(counted(copies.count)) into \(new), which opens like the old store"]
    if copies.leftOut > 0 {
      lines.append(
        "left out \(copies.leftOut) intact \(copies.leftOut == 1 ? "row" : "rows") with the name of a "
          + "copied credential: of rows with one name, only the newest is copied, or the first of "
          + "equally new ones")
    }
    if state == .damaged, !examination.isComplete {
      lines.append("the other credentials are lost, unless they are in a backup")
    }
    if state != .whole {
      lines.append(
        "the old store was not changed. To use the new store, move the files of the old one "
          + "(\(store), and its -wal file, if any) away, and the new store to their place. Then "
          + EncryptedFile.ProgressOptions.acceptance)
    }
    return lines
  }

  /// The report for a program: one object on one line.
  var json: Secret {
    JSONWriter.object { writer in
      writer.member("store", store)
      writer.member("state", state.rawValue)
      writer.member("counted", examination.counted)
      writer.member("found", examination.found)
      writer.member("good", examination.locked == nil ? examination.good : nil)
      writer.member("faults", arrayOf: examination.faults) { fault, writer in
        writer.braced { writer in
          writer.member("part", fault.part.rawValue)
          writer.member("service", fault.key?.service)
          writer.member("account", fault.key?.account)
          writer.member("message", fault.message)
        }
      }
      if !notes.isEmpty {
        writer.member("notes", arrayOf: notes) { note, writer in writer.element(note) }
      }
      if let locked = examination.locked {
        writer.member("locked") { (writer: inout JSONWriter) in
          writer.member("code", locked.code.rawValue)
          writer.member("message", locked.message)
        }
      }
      writer.member("copied", copies?.count)
      writer.member("leftOut", copies?.leftOut)
    }
  }
}
