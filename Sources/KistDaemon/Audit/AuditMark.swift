internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// A small file beside the audit log with the last link of the chain.
///
/// With it, kistd detects a truncated log even after a restart. kistd writes it after the log. It
/// flushes neither of them.
struct AuditMark: Sendable {
  let path: String

  /// The size of a number of 8 bytes, a chain, and the hash of both.
  private static let size = 8 + 2 * AuditLink.chainSize
  /// The highest number of a mark.
  ///
  /// It leaves later links readable, and prevents an overflow.
  private static let greatestNumber = 1 << 52

  /// Returns the last link; `nil` if the mark is missing, damaged, or of another key.
  func read(under hash: ChainHash) -> AuditChain.Head? {
    guard let descriptor = try? openOwnFile(path, O_RDONLY) else { return nil }
    defer { close(descriptor) }
    let content = bytes(of: descriptor, 0..<Self.size + 1)
    guard content.count == Self.size else { return nil }
    let number = content[..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
    let head = AuditChain.Head(
      number: number, chain: Array(content[8..<8 + AuditLink.chainSize]))
    guard
      (0...Self.greatestNumber).contains(number),
      hash.mark(head) == Array(content[(8 + AuditLink.chainSize)...])
    else { return nil }
    return head
  }

  /// Replaces the mark; does nothing while the storage is locked.
  func write(_ head: AuditChain.Head, under hash: ChainHash) throws(StorageError) {
    guard let proof = hash.mark(head) else { return }
    let hint = "check the file and its directory"
    let descriptor = try openOwnFile(path, O_WRONLY | O_CREAT, hint: hint)
    defer { close(descriptor) }
    let content = bytes(ofNumber: head.number) + head.chain + proof
    guard
      writeAll(content.span, to: descriptor, at: 0) == 0,
      ftruncate(descriptor, off_t(content.count)) == 0
    else { throw .failed("write", path, hint: hint) }
  }
}
