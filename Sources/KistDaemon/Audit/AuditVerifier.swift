internal import KistCore
internal import KistWire

/// Checks the chain of the audit log from the oldest line to the newest, up to the first fault.
struct AuditVerifier {
  private let log: AuditFile
  private let files: [OpenLog]
  private let chain: AuditChain
  private let seal: NameSeal
  private let hash: ChainHash
  /// The last link that kistd knows of.
  private let head: AuditChain.Head?
  private var verdict = AuditVerdict()
  /// The number of lines that were read.
  private var seen = 0
  /// The previous link, verified or not.
  private var last: AuditChain.Head?
  private var verified: AuditChain.Head?
  /// The first fault before a verified link; dropped if the lines before it use another key.
  private var suspect: AuditVerdict.Fault?

  /// A size above the largest block that kistd writes at once.
  private static let largestBlock = 128 << 10

  /// Opens the files; throws `locked` without the key.
  init(_ log: AuditFile, _ chain: AuditChain, _ seal: NameSeal) throws(StorageError) {
    guard let hash = ChainHash(seal), hash.mark(AuditChain.Head()) != nil else {
      throw .lockedChain
    }
    self.log = log
    self.chain = chain
    self.seal = seal
    self.hash = hash
    head = chain.head(under: hash)
    files = try Self.open(log)
  }

  /// Opens the older and the newer file, even if kistd renames the newer one at that moment.
  private static func open(_ log: AuditFile) throws(StorageError) -> [OpenLog] {
    let hint = "check the file and its directory"
    while true {
      let newer = try OpenLog(log.path, hint: hint)
      let older = try OpenLog(log.olderPath, hint: hint)
      if newer == nil || newer?.number != older?.number { return [older, newer].compactMap { $0 } }
    }
  }

  mutating func verify() throws(StorageError) -> AuditVerdict {
    var lines = 0
    for file in files {
      lines = try verify(file)
      if verdict.fault != nil { return verdict }
    }
    verifyEnd(atLine: max(1, lines))
    return verdict
  }

  /// Reads a file and returns the number of its lines.
  private mutating func verify(_ file: OpenLog) throws(StorageError) -> Int {
    var section = AuditSection(file: file)
    // kistd writes at most half of the limit to one file.
    guard file.size <= log.limit else {
      verdict.fault = section.fault(.tooLarge)
      return 1
    }
    var lines = file.lines()
    while let line = lines.next() {
      section.last += 1
      section.end = lines.position
      guard let (link, chain) = AuditLink.read(line) else { continue }
      let head = AuditChain.Head(number: link.number, chain: chain)
      try verify(link, head, of: section)
      if verdict.fault != nil { return section.last }
      last = head
      seen += section.count
      section = section.next(behind: chain)
    }
    verifyRest(section)
    return section.last
  }

  private mutating func verify(
    _ link: AuditLink, _ head: AuditChain.Head, of section: AuditSection
  ) throws(StorageError) {
    // The first link of a file names the chain that it continues.
    guard let before = link.after ?? section.chain else { return note(section.fault(.removed)) }
    if let fault = gap(before: link, of: section) { return note(fault) }
    var moments: [AuditRecord.Moment] = []
    if let fault = try fault(in: section, of: link, head, after: before, &moments) {
      let isOld = last.map { link.number <= $0.number } ?? false
      return note(isOld ? section.fault(.added, count: section.count) : fault)
    }
    if before == AuditChain.Head().chain {
      guard verified == nil else { return note(section.fault(.restarted)) }
      beginAgain()
    } else if suspect != nil {
      return verdict.fault = suspect
    } else if let last, before != last.chain || head.number != last.number + section.count {
      return note(section.fault(.removed, count: head.number - last.number - section.count))
    } else if last == nil, section.file.path == log.path, !isOlderFileLarge,
      head.number > section.count
    {
      return verdict.fault = section.fault(.removed, count: head.number - section.count)
    }
    verified = head
    verdict.since = verdict.since ?? moments.first
    verdict.until = moments.last
    verdict.verified += section.count - link.unchained
    verdict.unchained += link.unchained
    if link.isForeign { verdict.fault = section.fault(.added, count: link.unchained) }
  }

  private mutating func beginAgain() {
    suspect = nil
    verdict.unchecked = seen
    verdict.unchained = 0
  }

  /// Whether the older file is at least half full: kistd may have filled it while it had no key.
  private var isOlderFileLarge: Bool {
    files.contains { $0.path == log.olderPath && $0.size >= log.limit / 4 }
  }

  /// Finds missing and added lines by the number of a link that continues the previous link.
  private func gap(before link: AuditLink, of section: AuditSection) -> AuditVerdict.Fault? {
    guard let last, link.after == nil || link.after == last.chain else { return nil }
    let missing = link.number - last.number - section.count
    if missing == 0 { return nil }
    if missing < 0 { return section.fault(.added, count: min(-missing, section.count)) }
    // The number is not verified. A forged number must not be reported as a count.
    let isPossible = link.number <= head?.number ?? 0
    return section.fault(.removed, count: isPossible ? missing : nil)
  }

  /// Finds a fault in lines whose number is correct.
  private func fault(
    in section: AuditSection, of link: AuditLink, _ head: AuditChain.Head,
    after before: [UInt8], _ moments: inout [AuditRecord.Moment]
  ) throws(StorageError) -> AuditVerdict.Fault? {
    guard link.unchained < section.count else { return section.fault(.changed) }
    var lines = section.file.lines(from: section.start)
    for _ in 0..<link.unchained { _ = lines.next() }
    guard section.end - lines.position <= Self.largestBlock else { return section.fault(.added) }
    var chain: [UInt8]? = before
    readPieces(of: section.file.descriptor, section.start..<lines.position) { piece in
      chain = chain.flatMap { hash.unchained(piece, after: $0) }
    }
    var parts: [UInt8] = []
    var number = section.first + link.unchained
    while let line = lines.next() {
      guard let content = ParsedAuditLine(Secret(copying: line)), try areOpened(content) else {
        return section.fault(.changed, lines: number...number)
      }
      moments.append(content.record.moment)
      if number == section.last {
        chain = chain.flatMap { hash.block(parts[...], AuditLink.covered(of: line), after: $0) }
        break
      }
      content.sealedNames.withBytes {
        AuditBlock.append((line + [0x0A]).span, sealed: $0, to: &parts)
      }
      number += 1
    }
    guard let chain else { throw .lockedChain }
    return chain == head.chain ? nil : section.fault(.changed)
  }

  /// Returns whether a line's names, if any, open together with the text before them.
  private func areOpened(_ content: ParsedAuditLine) throws(StorageError) -> Bool {
    do throws(StorageError) {
      _ = try content.names(openedBy: seal)
      return true
    } catch {
      if error.code == .corrupt { return false }
      throw error
    }
  }

  private mutating func note(_ fault: AuditVerdict.Fault) {
    if verified == nil { suspect = suspect ?? fault } else { verdict.fault = fault }
  }

  /// Counts lines after the last link as unchained; they are a fault if kistd wrote that link last.
  private mutating func verifyRest(_ section: AuditSection) {
    guard section.count > 0 else { return }
    if let end = chain.end, end.file == section.file.number, end.linkEnd == end.size,
      section.start >= end.size
    {
      return verdict.fault = section.fault(.added, count: section.count)
    }
    seen += section.count
    verdict.unchained += section.count
  }

  private mutating func verifyEnd(atLine line: Int) {
    guard let head else {
      if suspect != nil { beginAgain() }
      return
    }
    if let suspect { return verdict.fault = suspect }
    let missing = head.number - (verified?.number ?? 0)
    guard missing > 0 || (missing == 0 && head != verified) else { return }
    verdict.fault = AuditVerdict.Fault(
      missing > 0 ? .cut : .changed, file: name(of: log.path), lines: line...line,
      count: missing > 0 ? missing : nil)
  }
}

/// Lines of a file that are covered by the link in the last of them.
private struct AuditSection {
  let file: OpenLog
  var start = 0
  var end = 0
  /// The numbers of the first and the last line in the file.
  var first = 1
  var last = 0
  /// The chain of the previous link in the same file.
  var chain: [UInt8]?
  var count: Int { last - first + 1 }

  /// Returns the section after this one, without any lines yet.
  func next(behind chain: [UInt8]) -> AuditSection {
    AuditSection(file: file, start: end, end: end, first: last + 1, last: last, chain: chain)
  }

  func fault(
    _ kind: AuditVerdict.Kind, lines: ClosedRange<Int>? = nil, count: Int? = nil
  ) -> AuditVerdict.Fault {
    AuditVerdict.Fault(
      kind, file: name(of: file.path), lines: lines ?? first...max(first, last),
      count: count.flatMap { $0 > 0 ? $0 : nil })
  }
}

private func name(of path: String) -> String {
  path.split(separator: "/").last.map(String.init) ?? path
}

extension StorageError {
  fileprivate static var lockedChain: StorageError {
    .locked("kistd cannot verify the audit log, because the storage is locked")
  }
}
