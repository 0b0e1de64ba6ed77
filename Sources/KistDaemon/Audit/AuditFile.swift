internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// The file of the audit log, which kistd renames to the older file when it is full.
struct AuditFile: Sendable {
  let path: String
  /// The maximum total size of both files in bytes.
  let limit: Int

  var olderPath: String { path + ".1" }
  /// The file that has the last link of the chain.
  var mark: AuditMark { AuditMark(path: path + ".mark") }

  /// Appends whole lines, links the last of them, and begins a new file if this one is full.
  ///
  /// Opens the file each time, because another program may have removed it. An idle kistd keeps no
  /// file open.
  ///
  /// - Parameter waiting: whether to wait up to a second for another program's lock on the file.
  func append(
    _ block: inout AuditBlock, to chain: inout AuditChain, under hash: ChainHash?,
    waiting: Bool = true
  ) throws(StorageError) {
    let hint =
      "kistd still serves requests; check the directory, or start kistd with `--audit off`"
    try makeDirectory(directory(of: path), hint: hint)
    var file = try OpenAuditFile(path, waiting: waiting, hint: hint)
    chain.look(at: file, under: hash, upTo: limit / 2)
    if file.size > 0, file.size + block.text.count + AuditLink.longest > limit / 2 {
      guard unsafe rename(path, olderPath) == 0 else { throw .failed("rename", path, hint: hint) }
      file = try OpenAuditFile(path, waiting: waiting, hint: hint)
      chain.begin(file)
    }
    file.endLine()
    // This comes before the append, which may fail: the newline must not look like a foreign write.
    chain.noteSize(of: file)
    let link = hash.flatMap { hash in chain.link(block, in: file, under: hash) }
    if let link {
      chain.beginMark(under: hash)
      block.endLastLine(with: link.text)
    }
    try file.append(block.text)
    if let link { chain.note(link, in: file) } else { chain.noteSize(of: file) }
  }
}

/// The file of the audit log, opened and locked for writing.
struct OpenAuditFile: ~Copyable {
  let descriptor: CInt
  let path: String
  private let hint: String
  /// The number that distinguishes the file from others that exist at the same time.
  let number: UInt64
  private(set) var size: Int

  /// Opens the file for this user alone, and creates it if it is missing.
  init(_ path: String, waiting: Bool, hint: String) throws(StorageError) {
    self.path = path
    self.hint = hint
    while true {
      let descriptor = try openOwnFile(path, O_RDWR | O_CREAT | O_APPEND, hint: hint)
      fchmod(descriptor, 0o600)
      guard lockLog(descriptor, attempts: waiting ? 100 : 1) else {
        close(descriptor)
        throw .lockedLog(path, hint: hint)
      }
      // Another kistd may have renamed the file before this one locked it.
      if let status = fileStatus(of: descriptor), let named = fileStatus(ofLink: path),
        named.isSameFile(as: status)
      {
        self.descriptor = descriptor
        number = UInt64(status.st_ino)
        size = Int(status.st_size)
        return
      }
      close(descriptor)
    }
  }

  deinit { close(descriptor) }

  /// Appends all lines or none, as far as the file system allows.
  mutating func append(_ lines: [UInt8]) throws(StorageError) {
    let failure = writeAll(lines.span, to: descriptor)
    guard failure == 0 else {
      ftruncate(descriptor, off_t(size))
      throw .failed("write", path, hint: hint, errno: failure)
    }
    size += lines.count
  }

  /// Adds the missing newline after a line that a power failure cut off.
  mutating func endLine() {
    let newline = [UInt8(ascii: "\n")]
    if size > 0, bytes(of: descriptor, size - 1..<size) != newline,
      writeAll(newline.span, to: descriptor) == 0
    {
      size += 1
    }
  }
}
