internal import KistCore
internal import KistInterop
internal import KistWire

/// The most bytes of a file that `kist export` wrote: 1 GiB.
let longestExport = 1 << 30

/// Reads what `kist export` wrote: on each line a credential, as `kist load --json` prints it.
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
