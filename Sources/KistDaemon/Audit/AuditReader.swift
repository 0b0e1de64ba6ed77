internal import KistCore
internal import KistWire

/// Searches the files of the audit log, the newest line first.
///
/// It reads only the last part of a file that is much larger than the limit of both files, so that a
/// search of any file ends.
struct AuditReader {
  private let file: AuditFile
  private let seal: NameSeal?

  /// The maximum number of lines that one page examines.
  private static let examinedLines = 20_000
  /// The number of bytes after which a page reads no more; an overlong line may exceed it.
  private static let examinedBytes = 32 << 20
  /// The number of JSON bytes after which a page is full, so that it fits into a line.
  private static let pageBytes = 900 << 10

  init(_ file: AuditFile, _ seal: NameSeal?) {
    self.file = file
    self.seal = seal
  }

  func page(of query: AuditQuery) throws(StorageError) -> AuditPage {
    if query.asksForNames, seal == nil {
      throw StorageError(
        .unavailable, "this storage has no key to encrypt names, so the audit log has no names",
        hint: "leave out --service and --account")
    }
    var page = AuditPage()
    var (room, examined, bytes) = (Self.pageBytes, 0, 0)
    for lines in try files(query.after.map(Cursor.init(reading:))) {
      while let (line, end) = lines.next() {
        // kistd writes at most half of the limit to one file. Other programs may have added more.
        guard lines.size - end < file.limit + Self.examinedBytes else {
          page.skipped += 1
          break
        }
        guard
          page.records.count < query.limit, examined < Self.examinedLines, room > 0,
          bytes < Self.examinedBytes
        else {
          page.next = Cursor(number: lines.number, end: end).text
          return page
        }
        examined += 1
        bytes += end - lines.position
        guard let line, let content = ParsedAuditLine(Secret(copying: line)) else {
          page.skipped += 1
          continue
        }
        guard let record = try record(of: content, query) else { continue }
        page.records.append(record)
        // Each byte of a text may become six in JSON.
        room -= 512 + 6 * line.count
      }
    }
    return page
  }

  private func record(
    of content: ParsedAuditLine, _ query: AuditQuery
  ) throws(StorageError) -> AuditRecord? {
    guard query.matches(content.record) else { return nil }
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
    of content: ParsedAuditLine, _ query: AuditQuery
  ) throws(StorageError) -> AuditedRequest.Names? {
    guard let seal else { return .sealed(.unavailable) }
    do throws(StorageError) {
      return try content.names(openedBy: seal).map { .open($0) }
    } catch {
      // The names are unknown, so it is also unknown whether they match the query.
      if error.code == .locked, query.asksForNames { throw error }
      return .sealed(error.code)
    }
  }

  /// Opens the files from the cursor's position on, so that they stay the same during the search.
  private func files(_ cursor: Cursor?) throws(StorageError) -> [BackwardLines] {
    var files: [BackwardLines] = []
    for path in [file.path, file.olderPath] {
      // A file that is renamed meanwhile appears twice.
      if let next = try BackwardLines(path, hint: "check the file and its directory"),
        next.number != files.last?.number
      {
        files.append(next)
      }
    }
    guard let cursor else { return files }
    // If that file is gone, all older lines are gone, too.
    guard let first = files.firstIndex(where: { $0.number == cursor.number }) else { return [] }
    files[first].continue(from: cursor.end)
    return Array(files[first...])
  }
}

/// The end of a page: a file, and the end of a line in it.
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
