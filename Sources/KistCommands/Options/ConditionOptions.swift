internal import ArgumentParser
internal import KistCore

/// The conditions for saving a credential.
struct ConditionOptions: ParsableArguments {
  @Flag(help: "Save only if there is no such credential.")
  var ifAbsent = false

  @Option(help: ArgumentHelp("Save only if it is at this revision.", valueName: "revision"))
  var ifRevision: String?

  func condition() throws(StorageError) -> Condition {
    switch (ifAbsent, ifRevision) {
    case (false, nil): return .always
    case (true, nil): return .ifAbsent
    case (false, let revision?): return .ifRevision(Revision(rawValue: revision))
    case (true, _?): throw .badRequest("--if-absent and --if-revision exclude each other")
    }
  }
}
