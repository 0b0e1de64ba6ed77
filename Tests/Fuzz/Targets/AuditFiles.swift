import KistCore
import KistFile
import KistWire

@testable import KistDaemon

/// The files of the audit log: lines read backwards equal those read forwards, and small pages
/// together equal one large page.
///
/// No line is verified that kistd did not write.
let auditFiles = Target("audit-files") { input in
  var input = input
  let limit = 1 + input.choice(of: 8), isSplit = input.choice(of: 2) == 1
  let cursor = input.text(before: 0)
  // One byte that no text contains expands to many, so that lines extend over several reads.
  let file = Array(
    input.rest.lazy.flatMap { byte in
      repeatElement(byte < 0xF0 ? byte : 0x20, count: byte < 0xF0 ? 1 : Int(byte & 0xF) << 13)
    }.prefix(5 << 18))
  let folder = Folder.own
  folder.write(file, to: "audit")
  if isSplit { folder.write(Array(file.reversed()) + file, to: "audit.1") }
  checkLines(of: file, folder.path("audit"))
  let log = AuditFile(path: folder.path("audit"), limit: 1 << 30)
  for seal in [nil, nameSeal] { checkPages(AuditReader(log, seal), limit, cursor) }
  var verifier = try! AuditVerifier(log, AuditChain(mark: log.mark), nameSeal)
  demand(try! verifier.verify().verified == 0, "no line is verified that kistd did not write")
  folder.empty()
}

private func checkLines(of file: [UInt8], _ path: String) {
  let lines = try! BackwardLines(path, hint: "")!
  let pieces = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  var expected = pieces.dropLast()
  // A long last line without a newline is also reported as skipped.
  if let last = pieces.last, last.count > BackwardLines.longestLine { _ = lines.next() }
  while let next = lines.next() {
    let line = expected.popLast().map(Array.init)
    let isLong = (line?.count ?? 0) >= BackwardLines.longestLine
    demand(next.line == line || isLong && next.line == nil, "lines are the same read backwards")
    guard expected.count.isMultiple(of: 16) else { continue }
    let cut = try! BackwardLines(path, hint: "")!
    cut.continue(from: next.end)
    demand(cut.next()?.line == next.line, "reading continues at the end of a line")
  }
  demand(expected.isEmpty, "every line is read")
}

private func checkPages(_ reader: AuditReader, _ limit: Int, _ cursor: String) {
  var query = AuditQuery()
  query.after = cursor
  _ = try? reader.page(of: query)
  query.after = nil
  query.names.service = "s"
  demand(
    (try? reader.page(of: query).records) ?? [] == [], "only sealed names are returned")
  query.names.service = nil
  let all = try! reader.page(of: query).records
  query.limit = limit
  var pages: [AuditRecord] = []
  repeat {
    let page = try! reader.page(of: query)
    pages += page.records
    query.after = page.next
  } while query.after != nil && pages.count <= all.count
  demand(pages == all, "small pages contain the same records as a large one")
}
