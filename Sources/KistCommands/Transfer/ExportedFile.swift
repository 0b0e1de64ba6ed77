internal import KistCore
internal import KistInterop
internal import KistWire

/// The maximum size of a file of `kist export`: 1 GiB.
let longestExport = 1 << 30

/// Reads a file of `kist export`: each line is a credential as printed by `kist load --json`.
func exportedCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials(tellsAll: true)
  try text.forEachLine { (line, number) throws(StorageError) in
    guard !line.isEmpty else { return }
    let credential: NewCredential
    do throws(StorageError) { credential = try NewCredential(json: Secret(copying: line)) } catch {
      throw .unreadable("line \(number): \(error.message)")
    }
    try file.add(credential, at: number)
  }
  return file
}
