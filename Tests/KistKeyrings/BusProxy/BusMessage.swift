/// A message on the bus in wire format (D-Bus specification, "Message Format").
struct BusMessage {
  let bytes: [UInt8]
  private(set) var member: String?
  private(set) var replySerial: UInt32?

  var isCall: Bool { bytes[1] == 1 }
  var expectsReply: Bool { isCall && bytes[2] & 1 == 0 }
  var serial: UInt32 { bytes.uint32(at: 8) }

  /// The bytes before the header's fields, including the length of the fields.
  static let startCount = 16

  /// Returns the length of a message with this beginning; `nil` if it is invalid or too long.
  static func count(startingWith start: [UInt8]) -> Int? {
    guard [UInt8(ascii: "l"), UInt8(ascii: "B")].contains(start[0]), start[3] == 1 else {
      return nil
    }
    let count = bodyOffset(start) + Int(start.uint32(at: 4))
    return count <= 1 << 27 ? count : nil
  }

  /// Reads a whole message; `nil` if its fields do not follow the specification.
  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    let end = Self.startCount + Int(bytes.uint32(at: 12))
    var offset = Self.startCount
    while offset < end {
      let code = bytes[offset]
      let type = bytes[offset + 2]
      // A byte of code, and the signature: its length, one letter, NUL.
      offset += 4
      switch type {
      case UInt8(ascii: "u"):
        if code == 5 { replySerial = bytes.uint32(at: offset) }
        offset += 4
      case UInt8(ascii: "s"), UInt8(ascii: "o"):
        let start = offset + 4
        let length = Int(bytes.uint32(at: offset))
        guard start + length < end else { return nil }
        if code == 3 { member = String(decoding: bytes[start..<start + length], as: UTF8.self) }
        offset = start + length + 1
      case UInt8(ascii: "g"): offset += 1 + Int(bytes[offset]) + 1
      default: return nil
      }
      offset = offset.paddedToEight
    }
  }

  /// Many calls that any client of a bus may send to any other (D-Bus specification,
  /// "org.freedesktop.DBus.Peer").
  static let pings: [UInt8] = {
    let object = padded([1, 1, UInt8(ascii: "o"), 0, 1, 0, 0, 0] + "/\0".utf8)
    let fields = object + [3, 1, UInt8(ascii: "s"), 0, 4, 0, 0, 0] + "Ping\0".utf8
    // A call without flags, of version 1; the length of its body, its serial number, the length of
    // its fields.
    let start = [UInt8(ascii: "l"), 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, UInt8(fields.count), 0, 0, 0]
    return Array([[UInt8]](repeating: padded(start + fields), count: 16).joined())
  }()

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: bytes.count.paddedToEight - bytes.count)
  }

  private static func bodyOffset(_ start: [UInt8]) -> Int {
    (startCount + Int(start.uint32(at: 12))).paddedToEight
  }
}

extension Int {
  fileprivate var paddedToEight: Int { (self + 7) & ~7 }
}

extension [UInt8] {
  /// A number in the byte order that the first byte names.
  fileprivate func uint32(at offset: Int) -> UInt32 {
    let bytes = self[offset..<offset + 4]
    let inOrder = self[0] == UInt8(ascii: "B") ? Array(bytes) : bytes.reversed()
    return inOrder.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
