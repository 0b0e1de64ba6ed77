import Foundation

/// A write-ahead log as anyone can write it, with the right checksums: they have no key
/// (https://sqlite.org/fileformat2.html#the_write_ahead_log).
func forgedLog(of pages: [(number: Int, bytes: Data)], sizeInPages: Int) -> Data {
  let salt: [UInt32] = [1, 2]
  var sum: (UInt32, UInt32) = (0, 0)
  // The checksums are of big-endian words, as the lowest bit of the magic number says.
  let start = words([0x377F_0683, 3_007_000, 4096, 0] + salt)
  add(start, to: &sum)
  var log = start + words([sum.0, sum.1])
  for (index, page) in pages.enumerated() {
    let isLast = index == pages.count - 1
    let head = words([UInt32(page.number), isLast ? UInt32(sizeInPages) : 0])
    add(head, to: &sum)
    add(page.bytes, to: &sum)
    log += head + words(salt + [sum.0, sum.1]) + page.bytes
  }
  return log
}

private func words(_ words: [UInt32]) -> Data {
  Data(words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } })
}

private func add(_ bytes: Data, to sum: inout (UInt32, UInt32)) {
  var rest = [UInt8](bytes)[...]
  func word() -> UInt32 {
    defer { rest = rest.dropFirst(4) }
    return rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }
  while !rest.isEmpty {
    sum.0 = sum.0 &+ word() &+ sum.1
    sum.1 = sum.1 &+ word() &+ sum.0
  }
}
