internal import CSystemd
internal import Glibc
package import KistCore

/// A message of D-Bus, to read or to write.
///
/// It stays on the thread of its bus. `sensitive` messages are overwritten when they are released.
@safe package final class BusMessage {
  /// The kinds of messages that a program receives.
  package enum Kind { case call, reply, error, signal }

  private let message: OpaquePointer

  /// Takes ownership of a reference.
  init(owning message: OpaquePointer) { unsafe self.message = message }

  /// Adds a reference.
  init(sharing message: OpaquePointer) { unsafe self.message = sd_bus_message_ref(message) }

  deinit { unsafe sd_bus_message_unref(message) }

  var pointer: OpaquePointer { unsafe message }

  package var kind: Kind {
    var type: UInt8 = 0
    unsafe sd_bus_message_get_type(message, &type)
    return switch Int(type) {
    case Int(SD_BUS_MESSAGE_METHOD_CALL): .call
    case Int(SD_BUS_MESSAGE_METHOD_RETURN): .reply
    case Int(SD_BUS_MESSAGE_METHOD_ERROR): .error
    default: .signal
    }
  }

  /// The unique name of the connection that sent the message; empty if the bus did not set it.
  package var sender: String { unsafe text(sd_bus_message_get_sender(message)) ?? "" }
  package var path: String { unsafe text(sd_bus_message_get_path(message)) ?? "" }
  /// The interface; `nil` if a call does not name one.
  package var interface: String? { unsafe text(sd_bus_message_get_interface(message)) }
  package var member: String { unsafe text(sd_bus_message_get_member(message)) ?? "" }
  /// The types of the content.
  package var signature: String { unsafe text(sd_bus_message_get_signature(message, 1)) ?? "" }
  /// Whether an argument is a file descriptor.
  package var hasDescriptors: Bool {
    unsafe strchr(sd_bus_message_get_signature(message, 1), CInt(type("h"))) != nil
  }
  package var expectsReply: Bool { unsafe sd_bus_message_get_expect_reply(message) > 0 }

  // These compare without a copy of the text.
  package func hasPath(_ path: String) -> Bool {
    unsafe isText(sd_bus_message_get_path(message), path)
  }
  package func hasSignature(_ types: String) -> Bool {
    unsafe isText(sd_bus_message_get_signature(message, 1), types)
  }
  private func hasInterface(_ interface: String) -> Bool {
    unsafe isText(sd_bus_message_get_interface(message), interface)
  }

  /// Whether sd-bus handles the message: the interface Peer, the end of the connection, replies.
  var isForBusLibrary: Bool {
    hasInterface("org.freedesktop.DBus.Peer") || hasInterface("org.freedesktop.DBus.Local")
      || kind == .reply || kind == .error
  }

  /// The error, if the message is one.
  package var error: BusError? {
    guard kind == .error, let error = unsafe sd_bus_message_get_error(message) else { return nil }
    return unsafe BusError(text(error.pointee.name) ?? "", text(error.pointee.message) ?? "")
  }

  /// Overwrites the message when it is released, because it contains a secret.
  package func markSensitive() { unsafe mustSucceed(sd_bus_message_sensitive(message)) }

  /// Lets the bus start no program for this call.
  package func forbidActivation() { unsafe mustSucceed(sd_bus_message_set_auto_start(message, 0)) }

  /// Returns the reply to this call.
  package func reply() -> BusMessage {
    var reply: OpaquePointer?
    unsafe mustSucceed(sd_bus_message_new_method_return(message, &reply))
    return unsafe BusMessage(owning: reply!)
  }

  /// Returns an error reply to this call.
  package func reply(_ error: BusError) -> BusMessage {
    var reply: OpaquePointer?
    unsafe error.name.withCString { name in
      unsafe error.message.replacingNoncharacters.withCString { text in
        var error = unsafe sd_bus_error(name: name, message: text, _need_free: 0)
        unsafe mustSucceed(sd_bus_message_new_method_error(message, &reply, &error))
      }
    }
    return unsafe BusMessage(owning: reply!)
  }

  private func isText(_ pointer: UnsafePointer<CChar>?, _ text: String) -> Bool {
    guard let pointer = unsafe pointer else { return false }
    return unsafe strcmp(pointer, text) == 0
  }

  private func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    unsafe pointer.map { unsafe String(cString: $0) }
  }
}

// MARK: - Reading

extension BusMessage {
  package func readString() throws(BusError) -> String { try readText("s") }
  package func readPath() throws(BusError) -> String { try readText("o") }
  package func readSignature() throws(BusError) -> String { try readText("g") }

  package func readBoolean() throws(BusError) -> Bool {
    var value: CInt = 0
    try mustRead(unsafe sd_bus_message_read_basic(pointer, type("b"), &value))
    return value != 0
  }

  package func readUInt32() throws(BusError) -> UInt32 {
    var value: UInt32 = 0
    try mustRead(unsafe sd_bus_message_read_basic(pointer, type("u"), &value))
    return value
  }

  package func readUInt64() throws(BusError) -> UInt64 {
    var value: UInt64 = 0
    try mustRead(unsafe sd_bus_message_read_basic(pointer, type("t"), &value))
    return value
  }

  /// Returns a file descriptor, which belongs to the message.
  package func readDescriptor() throws(BusError) -> CInt {
    var value: CInt = -1
    try mustRead(unsafe sd_bus_message_read_basic(pointer, type("h"), &value))
    return value
  }

  /// Returns an array of bytes, which is wiped when it is released.
  package func readBytes() throws(BusError) -> Secret {
    var start: UnsafeRawPointer?
    var count = 0
    let status = unsafe sd_bus_message_read_array(pointer, type("y"), &start, &count)
    guard status != -EOPNOTSUPP else { return try readForeignBytes() }
    try mustRead(status)
    return unsafe Secret(
      copying: UnsafeRawBufferPointer(start: start, count: count).bindMemory(to: UInt8.self).span)
  }

  /// Reads an array of bytes in a message of the other byte order, where sd-bus reads no arrays.
  private func readForeignBytes() throws(BusError) -> Secret {
    var bytes = WipedBytes()
    try readArray(of: "y") { () throws(BusError) in
      var byte: UInt8 = 0
      try mustRead(unsafe sd_bus_message_read_basic(pointer, type("y"), &byte))
      bytes.append(byte)
    }
    return Secret(bytes)
  }

  /// Reads each element of an array whose elements have this type.
  package func readArray(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError)
  {
    try enter("a", contents)
    while true {
      let isAtEnd = unsafe sd_bus_message_at_end(pointer, 0)
      try mustRead(isAtEnd)
      if isAtEnd > 0 { break }
      try body()
    }
    try leave()
  }

  /// Reads a structure of these types.
  package func readStructure<Value>(
    of contents: String, _ body: () throws(BusError) -> Value
  ) throws(BusError) -> Value { try read("r", contents, body) }

  /// Reads an entry of a dictionary.
  package func readEntry<Value>(
    of contents: String, _ body: () throws(BusError) -> Value
  ) throws(BusError) -> Value { try read("e", contents, body) }

  /// Reads a variant whose content has this type.
  package func readVariant<Value>(
    of contents: String, _ body: () throws(BusError) -> Value
  ) throws(BusError) -> Value {
    guard try variantType() == contents else {
      throw .invalidArguments("a variant does not have the type \(contents)")
    }
    return try read("v", contents, body)
  }

  /// Returns the type of the content of the variant that comes next.
  package func variantType() throws(BusError) -> String {
    var kind: CChar = 0
    var contents: UnsafePointer<CChar>?
    try mustRead(unsafe sd_bus_message_peek_type(pointer, &kind, &contents))
    guard kind == type("v"), let contents = unsafe contents else {
      throw .invalidArguments("a variant is missing")
    }
    return unsafe String(cString: contents)
  }

  /// Skips a value of this type.
  package func skip(_ types: String) throws(BusError) {
    try mustRead(unsafe sd_bus_message_skip(pointer, types))
  }

  package func readPaths() throws(BusError) -> [String] {
    var paths: [String] = []
    try readArray(of: "o") { () throws(BusError) in paths.append(try readPath()) }
    return paths
  }

  package func readStrings() throws(BusError) -> [String] {
    var strings: [String] = []
    try readArray(of: "s") { () throws(BusError) in strings.append(try readString()) }
    return strings
  }

  /// Reads `a{ss}`; the last value of a repeated name is used.
  package func readTexts() throws(BusError) -> Attributes {
    var texts: [(name: String, value: String)] = []
    try readArray(of: "{ss}") { () throws(BusError) in
      try readEntry(of: "ss") { () throws(BusError) in
        texts.append((try readString(), try readString()))
      }
    }
    return Attributes(lastOf: texts)
  }

  /// Reads `a{sv}`; the body reads or skips the variant of each name.
  package func readVariants(_ body: (String) throws(BusError) -> Void) throws(BusError) {
    try readArray(of: "{sv}") { () throws(BusError) in
      try readEntry(of: "sv") { () throws(BusError) in try body(try readString()) }
    }
  }

  private func readText(_ kind: Unicode.Scalar) throws(BusError) -> String {
    var text: UnsafePointer<CChar>?
    try mustRead(unsafe sd_bus_message_read_basic(pointer, type(kind), &text))
    return unsafe text.map { unsafe String(cString: $0) } ?? ""
  }

  private func read<Value>(
    _ kind: Unicode.Scalar, _ contents: String, _ body: () throws(BusError) -> Value
  ) throws(BusError) -> Value {
    try enter(kind, contents)
    let value = try body()
    try leave()
    return value
  }

  private func enter(_ kind: Unicode.Scalar, _ contents: String) throws(BusError) {
    let status = unsafe sd_bus_message_enter_container(pointer, type(kind), contents)
    if status <= 0 { throw .invalidArguments("the message is malformed") }
  }

  private func leave() throws(BusError) {
    try mustRead(unsafe sd_bus_message_exit_container(pointer))
  }
}

func type(_ scalar: Unicode.Scalar) -> CChar { CChar(scalar.value) }
