import Glibc
import KistCore

/// Sixteen random bytes to look for in this process's memory, made at run time so that no copy of
/// them is in the program.
@safe
final class Canary {
  static let count = 16
  private let bytes = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
  private let chunk = UnsafeMutableRawPointer.allocate(byteCount: chunkSize, alignment: 4096)
  private static let chunkSize = 1 << 20

  init() {
    var generator = SystemRandomNumberGenerator()
    for offset in 0..<Self.count {
      unsafe bytes.storeBytes(
        of: UInt8.random(in: 1...255, using: &generator), toByteOffset: offset, as: UInt8.self)
    }
  }

  deinit {
    unsafe explicit_bzero(bytes, Self.count)
    unsafe explicit_bzero(chunk, Self.chunkSize)
    unsafe bytes.deallocate()
    unsafe chunk.deallocate()
  }

  /// Writes it straight into a buffer, several times over: an allocator writes its own bookkeeping
  /// over the first bytes of what is given back to it.
  func append(to buffer: inout WipedBytes, times: Int = 8) {
    for _ in 0..<times {
      let span = unsafe Span<UInt8>(
        _unsafeStart: bytes.assumingMemoryBound(to: UInt8.self), count: Self.count)
      buffer.append(span)
    }
  }

  /// How often it occurs in the writable memory of this process, its own copy left out.
  func occurrences() throws -> Int {
    let memory = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw ScanFailure() }
    defer { _ = close(memory) }
    return try writableRegions().reduce(0) { $0 + count(in: $1, of: memory) }
  }

  private func count(in region: Range<UInt>, of memory: Int32) -> Int {
    var found = 0
    var address = region.lowerBound
    while address < region.upperBound {
      let wanted = min(UInt(Self.chunkSize), region.upperBound - address)
      let read = unsafe pread(memory, chunk, Int(wanted), off_t(address))
      guard read > 0 else { break }
      found += matches(among: read, at: address)
      // Chunks overlap, so that a match across their border is seen, and seen once.
      address += read < Self.count ? UInt(read) : UInt(read - Self.count + 1)
      if read < Self.count || address + UInt(Self.count) > region.upperBound { break }
    }
    return found
  }

  private func matches(among count: Int, at address: UInt) -> Int {
    let first = unsafe Int32(bytes.load(as: UInt8.self))
    var found = 0
    var offset = 0
    while offset + Self.count <= count,
      let match = unsafe memchr(chunk + offset, first, count - Self.count + 1 - offset)
    {
      offset = unsafe UnsafeRawPointer(match) - UnsafeRawPointer(chunk)
      if unsafe memcmp(match, bytes, Self.count) == 0, isForeign(address + UInt(offset)) {
        found += 1
      }
      offset += 1
    }
    return found
  }

  private func isForeign(_ address: UInt) -> Bool {
    let own = unsafe UInt(bitPattern: bytes)
    let scratch = unsafe UInt(bitPattern: chunk)
    return address != own && !(scratch..<scratch + UInt(Self.chunkSize)).contains(address)
  }
}

private struct ScanFailure: Error {}

/// The regions that proc(5) lists as readable and writable, except the shadow of a sanitizer, which
/// alone is larger than 1 GiB: it holds what it knows of bytes, and not bytes.
private func writableRegions() throws -> [Range<UInt>] {
  guard let maps = unsafe fopen("/proc/self/maps", "re") else { throw ScanFailure() }
  defer { unsafe fclose(maps) }
  var regions: [Range<UInt>] = []
  while let line = unsafe readLine(from: maps) {
    let fields = line.split(separator: " ")
    let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard fields[1].hasPrefix("rw"), bounds.count == 2 else { continue }
    if bounds[1] - bounds[0] <= 1 << 30 { regions.append(bounds[0]..<bounds[1]) }
  }
  return regions
}

private func readLine(from file: UnsafeMutablePointer<FILE>) -> String? {
  var line: UnsafeMutablePointer<CChar>?
  var capacity = 0
  defer { unsafe free(line) }
  guard unsafe getline(&line, &capacity, file) > 0, let line = unsafe line else { return nil }
  return unsafe String(cString: line)
}
