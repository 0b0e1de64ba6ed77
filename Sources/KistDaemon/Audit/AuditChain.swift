internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// The state of the chain: each write ends with a link over all lines since the previous link.
struct AuditChain: Sendable {
  struct Head: Sendable, Equatable {
    var number = 0
    var chain = [UInt8](repeating: 0, count: AuditLink.chainSize)
  }

  /// A link, and the text that replaces the end of its line.
  struct Link {
    var text: [UInt8]
    var head: Head
  }

  /// The end of the file as this kistd left it, or as it was at the first write.
  struct End: Sendable {
    var file: UInt64
    var size: Int
    /// The end of the last line that has a link; 0 if no line has one.
    var linkEnd = 0
    /// The link of that line; if kistd read it from the file, it is not verified.
    var link: Head?
  }

  private let mark: AuditMark
  /// The last link of this key; `nil` before the first write under the key.
  private var head: Head?
  private(set) var end: End?
  /// Whether another program wrote to the file after the last write of this kistd.
  private var isForeign = false

  init(mark: AuditMark) { self.mark = mark }

  /// Forgets the last link; the last link of the next key will be read from the mark.
  mutating func forgetKey() { head = nil }

  func head(under hash: ChainHash) -> Head? {
    let known = head ?? mark.read(under: hash)
    return known == Head() ? nil : known
  }

  /// Compares the file with the end that this kistd left, and finds the last link if it is unknown.
  ///
  /// It does not search a file that is larger than the limit, because kistd appends nothing to it.
  mutating func look(
    at file: borrowing OpenAuditFile, under hash: ChainHash?, upTo limit: Int
  ) {
    if let known = end, known.file != file.number || known.size != file.size {
      isForeign = true
      end = nil
    }
    guard let hash else { return }
    if end == nil {
      let last = file.size > limit ? nil : lastLink(in: file)
      end = End(file: file.number, size: file.size, linkEnd: last?.end ?? 0, link: last?.head)
    }
    guard head == nil, let marked = mark.read(under: hash) else { return }
    head = marked
    // The mark is behind if kistd was killed after the write to the log. Each line has at least
    // one byte, so a link that is further ahead is forged. kistd must not continue from its number.
    if let link = end?.link, link.number > marked.number, link.number - marked.number <= file.size {
      head = link
    }
  }

  /// Records that a new file replaces the one that `look` compared.
  mutating func begin(_ file: borrowing OpenAuditFile) {
    if end != nil { end = End(file: file.number, size: 0) }
  }

  mutating func noteSize(of file: borrowing OpenAuditFile) { end?.size = file.size }

  /// Returns the link of a block before it is appended to the file; `nil` without a key.
  func link(_ block: AuditBlock, in file: borrowing OpenAuditFile, under hash: ChainHash) -> Link? {
    guard let end else { return nil }
    let before = head ?? Head()
    var chain: [UInt8]? = before.chain
    var unchained = 0
    readPieces(of: file.descriptor, end.linkEnd..<file.size) { piece in
      unchained += piece.count { $0 == UInt8(ascii: "\n") }
      chain = chain.flatMap { hash.unchained(piece, after: $0) }
    }
    let link = AuditLink(
      number: before.number + unchained + block.count,
      after: end.link == before ? nil : before.chain, unchained: unchained,
      isForeign: isForeign && unchained > 0)
    let members = link.members
    guard
      let chain = chain.flatMap({
        hash.block(block.partsBeforeLastLine, block.openLastLine + members, after: $0)
      })
    else { return nil }
    return Link(
      text: members + AuditLink.end(with: chain), head: Head(number: link.number, chain: chain))
  }

  /// Records that a block with this link was appended.
  mutating func note(_ link: Link, in file: borrowing OpenAuditFile) {
    head = link.head
    end = End(file: file.number, size: file.size, linkEnd: file.size, link: link.head)
    isForeign = false
  }

  /// Writes a mark without a link before the first link of a key.
  ///
  /// If kistd is killed before it marks that link, this empty mark lets the next start accept the
  /// link. A failure is not reported here, because writing the next mark fails, too.
  func beginMark(under hash: ChainHash?) {
    guard head == nil, let hash else { return }
    try? mark.write(Head(), under: hash)
  }

  func writeMark(under hash: ChainHash) throws(StorageError) {
    if let head { try mark.write(head, under: hash) }
  }

  private func lastLink(in file: borrowing OpenAuditFile) -> (head: Head, end: Int)? {
    guard let lines = try? BackwardLines(file.path, hint: "") else { return nil }
    while let next = lines.next() {
      if let line = next.line, let (link, chain) = AuditLink.read(line) {
        return (Head(number: link.number, chain: chain), next.end)
      }
    }
    return nil
  }
}

/// The keyed hashes of the chain; each use has its own prefix.
struct ChainHash: Sendable {
  private let hash: NameSeal.Hash

  private enum Use: UInt8 { case unchained = 1, block, mark }

  /// Uses the key of the storage; `nil` if the storage has none.
  init?(_ seal: NameSeal?) {
    guard let seal else { return nil }
    hash = seal.hash
  }

  func unchained(_ piece: [UInt8], after chain: [UInt8]) -> [UInt8]? {
    digest(.unchained, chain, piece[...])
  }

  /// Returns one hash of the parts of all lines but the last, and the last line up to `chain`.
  func block(
    _ parts: ArraySlice<UInt8>, _ last: ArraySlice<UInt8>, after chain: [UInt8]
  ) -> [UInt8]? { digest(.block, chain, parts, last) }

  /// Returns the hash that proves that kistd wrote a mark.
  func mark(_ head: AuditChain.Head) -> [UInt8]? {
    digest(.mark, head.chain, bytes(ofNumber: head.number)[...])
  }

  private func digest(_ use: Use, _ chain: [UInt8], _ parts: ArraySlice<UInt8>...) -> [UInt8]? {
    var message = [use.rawValue] + chain
    for part in parts { message += part }
    return hash(message.span)
  }
}

/// Returns a number as 8 bytes, the lowest first.
func bytes(ofNumber number: Int) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
}

/// A small file beside the audit log with the last link of the chain.
///
/// With it, kistd detects a truncated log even after a restart. kistd flushes neither file.
struct AuditMark: Sendable {
  let path: String

  /// The size of a number of 8 bytes, a chain, and the hash of both.
  private static let size = 8 + 2 * AuditLink.chainSize
  /// The highest number in a mark; the numbers of later links stay readable and do not overflow.
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
