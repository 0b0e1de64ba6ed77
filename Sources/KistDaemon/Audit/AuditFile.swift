internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// The file of the audit log.
///
/// kistd renames it to the older file when it is full.
struct AuditFile: Sendable {
  let path: String
  /// The maximum total size of both files in bytes.
  let limit: Int

  /// The path of the older file.
  var olderPath: String { path + ".1" }
  /// The file that has the last link of the chain.
  var mark: AuditMark { AuditMark(path: path + ".mark") }

  /// Appends whole lines and chains them to the lines before.
  ///
  /// Begins a new file if this one is full.
  ///
  /// Opens the file each time, because another program may have removed it. An idle kistd keeps no
  /// file open.
  ///
  /// - Parameters:
  ///   - block: the lines; the last of them gets the link of the chain.
  ///   - chain: the state of the chain.
  ///   - hash: the hash that chains lines; `nil` without a key.
  ///   - waiting: whether to wait up to a second for another program's lock on the file.
  func append(
    _ block: inout AuditBlock, to chain: inout AuditChain, under hash: ChainHash?,
    waiting: Bool = true
  ) throws(StorageError) {
    try makeDirectory(directory(of: path), hint: hint)
    var file = try OpenAuditFile(path, waiting: waiting, hint: hint)
    chain.look(at: file, under: hash, upTo: limit / 2)
    if file.size > 0, file.size + block.text.count + AuditLink.longest > limit / 2 {
      guard unsafe rename(path, olderPath) == 0 else { throw .failed("rename", path, hint: hint) }
      file = try OpenAuditFile(path, waiting: waiting, hint: hint)
      chain.begin(file)
    }
    file.endLine()
    // Before the append, which may fail: this newline must not look like another program's.
    chain.noteSize(of: file)
    let link = hash.flatMap { hash in chain.link(block, in: file, under: hash) }
    if let link {
      chain.beginMark(under: hash)
      block.endLastLine(with: link.text)
    }
    try file.append(block.text)
    if let link { chain.note(link, in: file) } else { chain.noteSize(of: file) }
  }

  private var hint: String {
    "kistd serves requests without it; check the directory, or start kistd with `--audit off`"
  }
}
