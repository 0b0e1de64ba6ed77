internal import KistCore
internal import KistInterop
internal import KistTerminal
internal import KistWire

extension Terminal {
  /// Prints the names of the credentials to import: a table on a terminal, or lines for a program.
  func show(_ plan: ImportPlan, asJSON: Bool) throws(StorageError) {
    if outputIsTerminal, !asJSON {
      if !plan.rows.isEmpty { try writeLines(table(of: plan.rows, width: outputWidth)) }
      return
    }
    for row in plan.rows {
      try asJSON
        ? writeJSON(row.json()) : writeColumns(columns(of: row))
    }
  }

  /// Reports the parts of the file that are not imported, and where they are.
  func noteLeftOut(_ plan: ImportPlan, of credentials: ForeignCredentials) {
    for what in LeftOut.allCases {
      guard let places = plan.leftOut[what] else { continue }
      let some = places.prefix(8).map(credentials.name).joined(separator: ", ")
      let rest = places.count > 8 ? " …" : ""
      let units = places.count == 1 ? credentials.unit : credentials.unit.plural
      note("not taken: \(places.count) \(what.words) (\(units) \(some)\(rest))")
    }
  }

  /// Saves these changes in portions of many; stops between two portions if a signal asks for it.
  func save(_ changes: [SaveRequest], to storage: UserStorage) async throws(StorageError) {
    let signals = try noteSignals()
    var progress = ProgressBar("saving", on: self)
    var (saved, overtaken) = (0, 0)
    var (signal, failure): (CInt?, StorageError?)
    for portion in changes.portionsByAge {
      signal = signals.first()
      guard signal == nil, failure == nil else { break }
      for result in await concurrently(portion, storage.save) {
        switch result {
        case .success: saved += 1
        case .failure(let error) where error.code == .conflict: overtaken += 1
        case .failure(let error): failure = failure ?? error
        }
      }
      progress.show(saved, of: changes.count)
    }
    // A signal that ends a prompt also makes it fail; the signal takes precedence.
    if failure != nil { signal = signal ?? signals.first() }
    signals.end()
    progress.clear()
    if let signal {
      report(.interrupted(saved, of: changes.count), asJSON: false)
      signals.carryOut(signal)
      throw .interrupted(saved, of: changes.count)
    }
    if let failure { throw failure.afterSaving(saved, of: changes.count) }
    guard overtaken == 0 else {
      throw StorageError(
        .conflict,
        "\(saved) of \(changes.count) were saved; the others changed meanwhile, and are as they are",
        hint: "run it again to see them")
    }
  }
}

extension String {
  fileprivate var plural: String { hasSuffix("y") ? dropLast() + "ies" : self + "s" }
}

extension StorageError {
  fileprivate static func interrupted(_ saved: Int, of all: Int) -> StorageError {
    StorageError(
      .unavailable, "interrupted: \(saved) of \(all) were saved",
      hint: goesOn)
  }

  /// Returns this error with the number of saved credentials.
  ///
  /// If some were saved, it removes the outcome `unchanged` of the failed one.
  fileprivate func afterSaving(_ saved: Int, of all: Int) -> StorageError {
    var error = self
    error.message += "; \(saved) of \(all) were saved"
    guard saved > 0 else { return error }
    let remedy = [.badRequest, .wrongPassphrase].contains(code) ? nil : hint
    error.hint = [remedy, Self.goesOn].compactMap(\.self).joined(separator: "; ")
    if outcome == .unchanged { error.outcome = nil }
    return error
  }

  private static let goesOn = "run it again: it goes on, and saves nothing twice"
}

extension ImportPlan {
  func summary(saved: Int) -> String {
    var parts = ["saved \(saved)"]
    if count(.same) > 0 {
      parts.append("\(count(.same)) \(count(.same) == 1 ? "was" : "were") there already")
    }
    let kept = count(.new) + count(.differs) + count(.clash) - saved
    if kept > 0 { parts.append("\(kept) not taken, since there is another of that name") }
    return parts.joined(separator: "; ")
  }
}

private func columns(of row: ImportPlan.Row) -> [String] {
  let credential = row.entry.credential
  return [
    row.state.rawValue, credential.key.service, credential.key.account, credential.label ?? "",
  ]
}

private func table(of rows: [ImportPlan.Row], width: Int) -> [String] {
  KistCommands.table(
    [["STATE", "SERVICE", "ACCOUNT", "LABEL"]] + rows.map(columns),
    width: width
  ) { widths in
    (1...3).max { widths[$0] < widths[$1] } ?? 1
  }
}
