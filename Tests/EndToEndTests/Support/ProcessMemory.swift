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

  /// The regions in which some bytes are found; unreadable ones (like `[vvar]`) hold nothing.
  func regions(holding needle: [UInt8]) throws -> [Region] {
    let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(processIdentifier)/mem"))
    defer { try? memory.close() }
    return try regions().filter { region in
      var start = region.range.lowerBound
      while start < region.range.upperBound {
        // Pieces overlap, so that no needle is cut in two.
        let length = min(1 << 24, region.range.upperBound - start)
        guard let bytes = read(memory, at: start, count: Int(length)) else { return false }
        if bytes.range(of: Data(needle)) != nil { return true }
        start += length == 1 << 24 ? length - UInt64(needle.count) : length
      }
      return false
    }
  }

  private func regions() throws -> [Region] {
    try maps().split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      // The kernel's own page lies beyond what a file offset reaches.
      guard ends.count == 2, ends[1] <= UInt64(Int64.max) else { return nil }
      // What is larger is the shadow of a sanitizer: it holds what it knows of bytes, and not bytes.
      guard ends[1] - ends[0] <= 1 << 30 else { return nil }
      return Region(
        range: ends[0]..<ends[1], permissions: String(fields[1]),
        name: fields.count > 5 ? String(fields[5]) : "")
    }
  }

  /// The kernel hands this file out in pieces, each shorter than what was asked for; whoever takes
  /// a short read for the end misses most of it.
  private func maps() throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(processIdentifier)/maps"))
    defer { try? file.close() }
    var maps = Data()
    while let piece = try file.read(upToCount: 4096), !piece.isEmpty { maps += piece }
    return String(decoding: maps, as: UTF8.self)
  }

  private func read(_ memory: FileHandle, at offset: UInt64, count: Int) -> Data? {
    var bytes = Data(count: count)
    let filled = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pread(memory.fileDescriptor, buffer.baseAddress, buffer.count, off_t(offset))
    }
    return filled > 0 ? bytes.prefix(filled) : nil
  }
}
