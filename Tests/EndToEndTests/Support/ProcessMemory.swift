import Foundation

/// The memory of another process, as root sees it in /proc (proc_pid_mem(5)).
struct ProcessMemory {
  /// One mapping of the address space.
  struct Region {
    let range: Range<UInt64>
    let permissions: String
    let name: String
  }

  let processIdentifier: pid_t

  /// Returns the readable regions that contain some bytes (`[vvar]`, for example, is unreadable).
  func regions(holding needle: [UInt8]) throws -> [Region] {
    let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(processIdentifier)/mem"))
    defer { try? memory.close() }
    return try regions().filter { region in
      var start = region.range.lowerBound
      while start < region.range.upperBound {
        // Pieces overlap, so that no needle is split.
        let length = min(1 << 24, region.range.upperBound - start)
        guard let bytes = read(memory, at: start, count: Int(length)) else { return false }
        if bytes.range(of: Data(needle)) != nil { return true }
        start += length == 1 << 24 ? length - UInt64(needle.count) : length
      }
      return false
    }
  }

  private func regions() throws -> [Region] {
    try wholeText(of: "/proc/\(processIdentifier)/maps").split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      // The kernel's own page is beyond the largest file offset.
      guard ends.count == 2, ends[1] <= UInt64(Int64.max) else { return nil }
      // A larger region is the shadow memory of a sanitizer, which contains no data of the program.
      guard ends[1] - ends[0] <= 1 << 30 else { return nil }
      return Region(
        range: ends[0]..<ends[1], permissions: String(fields[1]),
        name: fields.count > 5 ? String(fields[5]) : "")
    }
  }

  private func read(_ memory: FileHandle, at offset: UInt64, count: Int) -> Data? {
    var bytes = Data(count: count)
    let filled = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pread(memory.fileDescriptor, buffer.baseAddress, buffer.count, off_t(offset))
    }
    return filled > 0 ? bytes.prefix(filled) : nil
  }
}

/// Reads a file of /proc to its end.
///
/// The kernel returns fewer bytes than requested for each read, so a short read is not the end.
func wholeText(of path: String) throws -> String {
  let file = try FileHandle(forReadingFrom: URL(filePath: path))
  defer { try? file.close() }
  var content = Data()
  while let piece = try file.read(upToCount: 4096), !piece.isEmpty { content += piece }
  return String(decoding: content, as: UTF8.self)
}
