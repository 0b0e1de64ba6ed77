internal import CSystemd
internal import Glibc
internal import KistCore

extension BusMessage {
  /// Returns about how many bytes the message keeps in memory, to limit messages that wait.
  ///
  /// sd-bus does not give the size, so this reads the content, and returns to its beginning.
  ///
  /// - Parameter limit: The number of bytes from which on the rest is not counted.
  package func size(countingUpTo limit: Int) throws(BusError) -> Int {
    defer { unsafe mustSucceed(sd_bus_message_rewind(pointer, 1)) }
    // The header, and what sd-bus keeps for each message.
    var size = 1024 + path.utf8.count + (interface?.utf8.count ?? 0) + member.utf8.count
    try count(&size, upTo: limit)
    return size
  }

  /// Reads an array of bytes, and returns its length.
  private func countBytes() throws(BusError) -> Int {
    var start: UnsafeRawPointer?
    var count = 0
    let status = unsafe sd_bus_message_read_array(pointer, type("y"), &start, &count)
    // sd-bus reads no arrays in a message of the other byte order.
    guard status != -EOPNOTSUPP else { return try readBytes().count }
    try mustRead(status)
    return count
  }

  /// Adds the size of the values up to the end of the container.
  private func count(_ size: inout Int, upTo limit: Int) throws(BusError) {
    while size < limit {
      var kind: CChar = 0
      var contents: UnsafePointer<CChar>?
      let status = unsafe sd_bus_message_peek_type(pointer, &kind, &contents)
      try mustRead(status)
      if status == 0 { return }
      // A value can take more memory than its bytes.
      size += 16
      switch kind {
      case type("s"), type("o"), type("g"):
        var text: UnsafePointer<CChar>?
        try mustRead(unsafe sd_bus_message_read_basic(pointer, kind, &text))
        if let text = unsafe text { size += unsafe strlen(text) }
      case type("a") where unsafe contents.map { unsafe String(cString: $0) } == "y":
        size += try countBytes()
      case type("a"), type("r"), type("e"), type("v"):
        try mustRead(unsafe sd_bus_message_enter_container(pointer, kind, contents))
        try count(&size, upTo: limit)
        // Over the limit, the rest of the container was not read.
        if size < limit { try mustRead(unsafe sd_bus_message_exit_container(pointer)) }
      case type("h"):
        // Descriptors are scarcer than memory.
        size += 1 << 20
        try mustRead(unsafe sd_bus_message_skip(pointer, nil))
      default: try mustRead(unsafe sd_bus_message_skip(pointer, nil))
      }
    }
  }
}
