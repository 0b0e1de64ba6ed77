internal import KistCore
internal import KistFile

/// What `kistd fsck` tells a person or a program.
struct FsckReport {
  /// What was salvaged.
  struct Copies {
    var count: Int
    var directory: String
  }

  /// The path of the store.
  var store: String
  var examination: EncryptedFile.Examination
  var copies: Copies?

  /// What is worth an exit status of its own.
  enum State: String {
    case whole, damaged, locked
  }

  var state: State {
    if !examination.faults.isEmpty { return .damaged }
    return examination.locked == nil ? .whole : .locked
  }

  /// What was salvaged has no fault where nothing was lost.
  var exitStatus: CInt {
    switch state {
    case .whole: 0
    case .damaged:
      copies != nil && examination.isComplete ? 0 : StorageError.Code.corrupt.exitStatus
    case .locked: (examination.locked?.code ?? .locked).exitStatus
    }
  }

  /// For a person.
  var lines: [String] {
    var lines = [head]
    lines += examination.faults.map { fault in
      "- \(fault.part.rawValue): "
        + (fault.key.map { "\(CredentialReference($0)): " } ?? "") + fault.message
    }
    if let locked = examination.locked {
      lines.append("what is sealed was not looked at: \(locked.message)")
      if locked.code != .corrupt, let hint = locked.withoutKistd.hint {
        lines.append("hint: \(hint)")
      }
    }
    if let copies { return lines + advice(copies) }
    if state == .damaged {
      lines.append("nothing was changed")
      if examination.good > 0 {
        lines.append(
          "hint: restore the store from a backup, or copy what is whole into a new one: give this "
            + "command `--salvage DIRECTORY`, too")
      } else {
        lines.append("hint: restore the store from a backup")
      }
    }
    return lines
  }

  private var head: String {
    let found = counted(examination.found)
    return switch state {
    case .whole: "\(store) is whole: \(found)"
    case .locked: "\(store) shows no damage from outside: \(found)"
    case .damaged where examination.locked != nil: "\(store) is damaged: \(found) found"
    case .damaged where examination.counted == nil:
      "\(store) is damaged: \(examination.good) of \(found) found good; how many there were cannot be "
        + "told"
    case .damaged:
      "\(store) is damaged: \(examination.good) of "
        + "\(counted(max(examination.found, examination.counted ?? 0))) good"
    }
  }

  /// How to go on with a store that was salvaged.
  private func advice(_ copies: Copies) -> [String] {
    let new = copies.directory + "/credentials.db"
    var lines = ["copied \(counted(copies.count)) into \(new), which opens as the old one does"]
    if state == .damaged, !examination.isComplete {
      lines.append("what could not be copied is lost, unless it is in a backup")
    }
    if state == .damaged {
      lines.append(
        "the damaged store is as it was. To have kistd use the new one, move the files of the old "
          + "one (\(store), and its -wal where there is one) away, and the new one to its place")
    }
    return lines
  }
}
