internal import KistClient
internal import KistInterop
internal import KistJSON
internal import KistWire

/// The maximum size of a file of `kist export`: 1 GiB.
let longestExport = 1 << 30

/// Returns the last line of an export: the number of credentials before it.
func exportEnd(count: Int) -> Secret { JSONWriter.object { $0.member("exported", count) } }

/// Reads a file of `kist export`: each line is a credential as printed by `kist load --json`.
///
/// After the last credential, a line has their number. A file without this line is from an earlier
/// version, or was cut short. A file may contain several exports, one after another.
func exportedCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  if let program = programThatEncrypted(text) {
    throw .refused(
      "the file is encrypted with \(program[0])",
      hint:
        "nothing was imported; pipe in the text: "
        + "`\(program.joined(separator: " ")) FILE | kist import kist - --yes`")
  }
  if text.withBytes({ $0.hasPrefix("SQLite format 3\0") }) {
    throw .refused(
      "the file is an SQLite database, as a backup of kist is, and not an export",
      hint: "nothing was imported; `kistd restore FILE` makes a store of a backup")
  }
  var file = ForeignCredentials(isComplete: true)
  var (uncounted, hasEnd) = (0, false)
  try text.forEachLine { (line, number) throws(StorageError) in
    guard !line.isEmpty else { return }
    let json = Secret(copying: line)
    if let count = exportedCount(in: json) {
      guard count == uncounted else {
        throw .unreadable(
          "line \(number): the export had \(count) credentials, but the file has \(uncounted)")
      }
      (uncounted, hasEnd) = (0, true)
      return
    }
    let credential: NewCredential
    do throws(StorageError) { credential = try NewCredential(json: json) } catch {
      throw .unreadable("line \(number): \(error.message)")
    }
    try file.add(credential, at: number)
    uncounted += 1
  }
  file.mayBeCut = uncounted > 0 || !hasEnd
  return file
}

/// Returns the number in the last line of an export; `nil` for any other line.
private func exportedCount(in line: Secret) -> Int? {
  // A credential is longer, and is not parsed twice.
  guard line.count < 64, let object = try? JSONObject(line) else { return nil }
  return try? object["exported"]?.integer()
}

/// Returns the start of the command that decrypts an export, or `nil` if it is not encrypted.
private func programThatEncrypted(_ text: Secret) -> [String]? {
  text.withBytes { bytes in
    if bytes.hasPrefix("age-encryption.org/") { return ["age", "--decrypt", "--identity", "KEY"] }
    // The first bit of an OpenPGP message is set (RFC 9580, section 4.2), but of no JSON object.
    return !bytes.isEmpty && bytes[0] & 0x80 != 0 ? ["gpg", "--decrypt"] : nil
  }
}
