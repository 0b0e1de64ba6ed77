internal import CSystemd
package import KistCore

extension BusMessage {
  /// Writes a text.
  ///
  /// A text of D-Bus cannot contain NUL, so the text ends there. sd-bus refuses noncharacters, so
  /// U+FFFD replaces them.
  package func write(_ text: String) { writeText("s", text.replacingNoncharacters) }
  package func write(path: String) { writeText("o", path) }

  package func write(_ value: Bool) {
    var value: CInt = value ? 1 : 0
    unsafe mustSucceed(sd_bus_message_append_basic(pointer, type("b"), &value))
  }

  package func write(_ value: UInt32) {
    var value = value
    unsafe mustSucceed(sd_bus_message_append_basic(pointer, type("u"), &value))
  }

  package func write(_ value: UInt64) {
    var value = value
    unsafe mustSucceed(sd_bus_message_append_basic(pointer, type("t"), &value))
  }

  package func write(_ bytes: [UInt8]) {
    unsafe mustSucceed(sd_bus_message_append_array(pointer, type("y"), bytes, bytes.count))
  }

  package func write(_ secret: Secret) {
    secret.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe mustSucceed(
          sd_bus_message_append_array(pointer, type("y"), bytes.baseAddress, bytes.count))
      }
    }
  }

  package func write(paths: [String]) {
    writeArray(of: "o") { for path in paths { write(path: path) } }
  }

  package func write(_ strings: [String]) {
    writeArray(of: "s") { for string in strings { write(string) } }
  }

  package func write(_ texts: [(name: String, value: String)]) {
    writeArray(of: "{ss}") {
      for (name, value) in texts {
        writeEntry(of: "ss") {
          write(name)
          write(value)
        }
      }
    }
  }

  package func writeArray(of contents: String, _ body: () -> Void) { write("a", contents, body) }
  package func writeStructure(of contents: String, _ body: () -> Void) {
    write("r", contents, body)
  }
  package func writeEntry(of contents: String, _ body: () -> Void) { write("e", contents, body) }
  package func writeVariant(of contents: String, _ body: () -> Void) { write("v", contents, body) }

  private func write(_ kind: Unicode.Scalar, _ contents: String, _ body: () -> Void) {
    unsafe mustSucceed(sd_bus_message_open_container(pointer, type(kind), contents))
    body()
    unsafe mustSucceed(sd_bus_message_close_container(pointer))
  }

  private func writeText(_ kind: Unicode.Scalar, _ text: String) {
    unsafe text.withCString { text in
      unsafe mustSucceed(sd_bus_message_append_basic(pointer, type(kind), text))
    }
  }
}

extension String {
  /// The text with U+FFFD in place of the scalars that sd-bus refuses.
  var replacingNoncharacters: String {
    // In UTF-8, noncharacters begin with one of these bytes.
    guard utf8.contains(where: { $0 >= 0xEF }) else { return self }
    var text = ""
    text.unicodeScalars.append(
      contentsOf: unicodeScalars.map {
        $0.properties.isNoncharacterCodePoint ? "\u{FFFD}" : $0
      })
    return text
  }
}
