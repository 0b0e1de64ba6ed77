internal import KistCore
internal import KistWire

/// Looks something up in the files of the audit log, the newest line first.
struct AuditReader {
  private let file: AuditFile
  private let seal: NameSeal?

  /// Lines that one page looks at.
  private static let examinedLines = 20_000
  /// Bytes of a line; one that is longer is none of ours.
  private static let longestLine = 16 << 10
  /// Bytes that a page may take as JSON before its last record, so that it fits into a line.
  private static let pageBytes = 900 << 10

  init(_ file: AuditFile, _ seal: NameSeal?) {
    self.file = file
    self.seal = seal
  }

  func page(of query: AuditQuery) throws(StorageError) -> AuditPage {
    if query.asksForNames, seal == nil { throw .noNames }
    var page = AuditPage()
    var room = Self.pageBytes
    var examined = 0
    for lines in try files(query.after.map(Cursor.init(reading:))) {
      while let (line, end) = lines.next() {
        guard page.records.count < query.limit, examined < Self.examinedLines, room > 0 else {
          page.next = Cursor(number: lines.number, end: end).text
          return page
        }
        examined += 1
        guard line.count <= Self.longestLine, let record = try record(of: line, query) else {
          continue
        }
        page.records.append(record)
        // Each byte of a text may become six in JSON.
        room -= 512 + 6 * line.count
      }
    }
    return page
  }

  /// The record of a line, if it is asked for; what is no line of the log is passed over.
  private func record(of line: [UInt8], _ query: AuditQuery) throws(StorageError) -> AuditRecord? {
    guard
      let content = AuditLine.Content(Secret(copying: line)), query.matches(content.record)
    else { return nil }
    guard content.hasNames, case .request(var request) = content.record.event else {
      return query.asksForNames ? nil : content.record
    }
    request.names = try names(of: content, query)
    if query.asksForNames {
      guard case .open(let names) = request.names, query.matches(names) else { return nil }
    }
    return AuditRecord(moment: content.record.moment, event: .request(request))
  }

  private func names(
    of content: AuditLine.Content, _ query: AuditQuery
  ) throws(StorageError) -> AuditedRequest.Names? {
    guard let seal else { return .sealed(.unavailable) }
    do throws(StorageError) {
      return try content.names(openedBy: seal).map { .open($0) }
    } catch {
      // What it names is not known, and so whether it is asked for is not either.
      if error.code == .locked, query.asksForNames { throw error }
      return .sealed(error.code)
    }
  }

  /// The files from a place on, opened, so that they stay the same while they are read.
  private func files(_ cursor: Cursor?) throws(StorageError) -> [BackwardLines] {
    var files: [BackwardLines] = []
    for path in [file.path, file.olderPath] {
      // One that is renamed meanwhile is met twice.
      if let next = try BackwardLines(path, hint: "see to the file and its directory"),
        next.number != files.last?.number
      {
        files.append(next)
      }
    }
    guard let cursor else { return files }
    // Where it is gone, everything before it is gone, too.
    guard let first = files.firstIndex(where: { $0.number == cursor.number }) else { return [] }
    files[first].continue(from: cursor.end)
    return Array(files[first...])
  }
}

/// Where a page ends: in which file, and at the end of which line.
private struct Cursor {
  var number: UInt64
  var end: Int

  var text: String { "\(number)-\(end)" }
}

extension Cursor {
  init(reading text: String) throws(StorageError) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = UInt64(parts[0]), let end = Int(parts[1]), end >= 0 else {
      throw .badRequest("`after` is not a cursor of this query")
    }
    self.init(number: number, end: end)
  }
}

extension StorageError {
  fileprivate static var noNames: StorageError {
    StorageError(
      .unavailable, "this storage has no key to seal names with, so that the audit log has none",
      hint: "leave out --service and --account")
  }
}
