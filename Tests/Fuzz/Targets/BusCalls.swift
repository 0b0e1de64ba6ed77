import CSystemd
import Glibc
import KistCore
import KistInterop

@testable import KistBus
@testable import KistSecretService
@testable import KistSecretServiceProgram

/// The calls of programs to the Secret Service, with storages in memory.
///
/// Each call is an object, a method and the values of its arguments. sd-bus writes and reads each
/// message; no bus is needed.
let busCalls = Target("bus-calls") { input in
  let boxed = Box(input)
  _ = wait { await answerCalls(boxed.value) }
}

private let program = ":1.7"

private func answerCalls(_ input: Input) async -> Bool {
  var input = input
  let storage = OpenStorage.inMemory()
  let functions = SecretService.Functions(
    storage: storage.credentials, access: storage.access, watch: storage.watch)
  guard let service = try? SecretService(functions, machine: []) else { return false }
  try? await service.readAll()
  guard let session = try? service.openSession(.plain, for: program).path else { return false }
  var known = ["/aliases/default", "", "/collection/login", "/aliases/session"]
    .map { ObjectPath.root + $0 }
  known += [session, "/"]
  for _ in 0..<16 where !input.isEmpty {
    await answerCall(of: &input, service, &known)
  }
  service.forget(program)
  demand(
    service.sessions.isEmpty && service.prompts.isEmpty, "nothing is kept for a program that left")
  for summary in (try? await storage.credentials.findAll()) ?? [] {
    demand(summary.isWithinLimits, "a saved item is within the limits")
  }
  return true
}

private func answerCall(
  of input: inout Input, _ service: SecretService, _ known: inout [String]
) async {
  let path = path(&input, known)
  guard let object = service.object(at: path) else { return }
  demand(
    ObjectPath(object.path, alias: { _ in nil }) == object, "the path of an object leads to it")
  guard service.exists(object, for: program), let interfaces = try? object.interfaces(named: nil)
  else { return }
  let methods = interfaces.flatMap(\.methods)
  let method = methods[input.choice(of: methods.count)]
  guard let message = newCall(to: path, method.name) else { return }
  var types = Array(method.input.map(\.type).joined().utf8)[...]
  let choice = input.choice(of: 16)
  let isExact = choice != 15
  if !isExact { types = Array(boxedTypes[input.choice(of: boxedTypes.count)].utf8)[...] }
  while !types.isEmpty { writeValue(&types, to: message, &input, known) }
  unsafe mustSucceed(sd_bus_message_seal(message.pointer, 1, 0))
  let size = try? message.size(countingUpTo: 1 << 20)
  demand(size.map { $0 >= 1024 } ?? false, "a well-formed call has a size")
  do {
    let reply = try await method.run(service, Call(message, from: program, to: object))
    unsafe mustSucceed(sd_bus_message_seal(reply.pointer, 2, 0))
    demand(
      reply.signature == method.output.map(\.type).joined(), "a reply has the types of the method")
    try await check(reply, of: method, to: message, isExact, service, &known)
  } catch let error as ServiceError {
    demand(error.name.hasPrefix("org.freedesktop."), "an error has a name of the Secret Service")
  } catch is BusError {
  } catch {
    demand(false, "every error has a name")
  }
}

/// Checks what a reply says, and takes its paths.
private func check(
  _ reply: BusMessage, of method: Method, to call: BusMessage, _ isExact: Bool,
  _ service: SecretService, _ known: inout [String]
) async throws {
  switch method.name {
  case "Introspect": checkXML(try reply.readString())
  case "OpenSession":
    try reply.skip("v")
    known.append(try reply.readPath())
  case "CreateCollection": known.append(try reply.readPath())
  case "CreateItem" where isExact:
    let item = try reply.readPath()
    known.append(item)
    unsafe mustSucceed(sd_bus_message_rewind(call.pointer, 1))
    let properties = try call.readNewProperties(of: InterfaceName.item)
    let sent = try call.readSecret()
    guard let object = service.object(at: item) else {
      return demand(false, "the path of a new item leads to an object")
    }
    let values = try await service.properties(ofItem: object)
    let attributes = values.first { $0.name == "Attributes" }?.value
    demand(
      attributes == .texts(properties.attributes), "an item has the given attributes")
    let found = try await service.search(properties.attributes, for: program)
    demand(found.unlocked.contains(item), "a search finds a new item")
    if let plain = try? await service.secret(of: object, in: sent.session, for: program),
      sent.parameters.isEmpty, sent.session == known[4]
    {
      demand(plain.value == sent.value, "a secret is read as it was written")
      demand(plain.contentType == sent.contentType, "a content type is read as it was written")
    }
  default: break
  }
}

/// Checks that a description in XML has matching tags, and only names.
private func checkXML(_ text: String) {
  var open: [Substring] = []
  for tag in text.dropFirst(text.range(of: "<node>")).split(separator: "<") {
    guard let end = tag.firstIndex(of: ">") else { return demand(false, "each tag ends") }
    let body = tag[..<end]
    let name = body.prefix { $0 != " " && $0 != "/" }
    demand(
      body.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "&") },
      "a description has only plain characters")
    if body.first == "/" {
      demand(open.popLast() == body.dropFirst(), "each tag is closed")
    } else if body.last != "/" {
      open.append(name)
    }
  }
  demand(open.isEmpty, "each tag is closed")
}

extension String {
  /// The number of characters before a text.
  fileprivate func range(of text: String) -> Int {
    var rest = self[...]
    while !rest.isEmpty, !rest.hasPrefix(text) { rest = rest.dropFirst() }
    return count - rest.count
  }
}

// MARK: - Messages

/// A connection to nothing, to which messages belong.
private nonisolated(unsafe) let connection: OpaquePointer? = {
  var ends: [CInt] = [0, 0]
  var bus: OpaquePointer?
  demand(
    socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 && sd_bus_new(&bus) >= 0
      && sd_bus_set_fd(bus, ends[0], ends[0]) >= 0 && sd_bus_start(bus) >= 0,
    "there is a connection")
  return bus
}()

private func newCall(to path: String, _ member: String) -> BusMessage? {
  var message: OpaquePointer?
  guard
    sd_bus_message_new_method_call(
      connection, &message, "org.freedesktop.secrets", path, nil, member) >= 0
  else { return nil }
  return BusMessage(owning: message!)
}

/// Removes the first type of a signature, and writes a value of it.
private func writeValue(
  _ types: inout ArraySlice<UInt8>, to message: BusMessage, _ input: inout Input, _ known: [String]
) {
  switch Unicode.Scalar(types.removeFirst()) {
  case "b": message.write(input.byte() & 1 == 1)
  case "u": message.write(UInt32(input.byte()))
  case "t": message.write(UInt64(input.byte()) << (input.byte() & 63))
  case "o": message.write(path: path(&input, known))
  case "v":
    let type = boxedTypes[input.choice(of: boxedTypes.count)]
    message.writeVariant(of: type) {
      var inner = Array(type.utf8)[...]
      writeValue(&inner, to: message, &input, known)
    }
  case "(":
    let inner = types.prefix(length(of: types, before: ")"))
    types.removeFirst(inner.count + 1)
    message.writeStructure(of: text(inner)) { writeValues(inner, to: message, &input, known) }
  case "{":
    let inner = types.prefix(length(of: types, before: "}"))
    types.removeFirst(inner.count + 1)
    message.writeEntry(of: text(inner)) { writeValues(inner, to: message, &input, known) }
  case "a":
    let element = types.prefix(lengthOfFirst(types))
    types.removeFirst(element.count)
    if element == [UInt8(ascii: "y")] {
      return message.write(input.bytes(input.choice(of: 40)))
    }
    let count = input.choice(of: 6)
    message.writeArray(of: text(element)) {
      for _ in 0..<count {
        var element = element
        writeValue(&element, to: message, &input, known)
      }
    }
  default: message.write(string(&input))
  }
}

private func writeValues(
  _ types: ArraySlice<UInt8>, to message: BusMessage, _ input: inout Input, _ known: [String]
) {
  var types = types
  while !types.isEmpty { writeValue(&types, to: message, &input, known) }
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// The length of the types up to the end of a container.
private func length(of types: ArraySlice<UInt8>, before end: Unicode.Scalar) -> Int {
  var depth = 0
  for (offset, byte) in types.enumerated() {
    if depth == 0, byte == UInt8(ascii: end) { return offset }
    if "({".utf8.contains(byte) { depth += 1 }
    if ")}".utf8.contains(byte) { depth -= 1 }
  }
  return types.count
}

private func lengthOfFirst(_ types: ArraySlice<UInt8>) -> Int {
  var depth = 0
  for (offset, byte) in types.enumerated() {
    if "({".utf8.contains(byte) { depth += 1 }
    if ")}".utf8.contains(byte) { depth -= 1 }
    if depth == 0, byte != UInt8(ascii: "a") { return offset + 1 }
  }
  return types.count
}

private func path(_ input: inout Input, _ known: [String]) -> String {
  let choice = input.choice(of: 32)
  if choice < 24 { return known[choice % known.count] }
  let letters = Array("abi_m01/".utf8)
  var path = choice < 28 ? known[choice % known.count] : ""
  if path == "/" { path = "" }
  for _ in 0..<(choice % 4 + 1) {
    path += "/" + text(input.bytes(input.choice(of: 20)).map { letters[Int($0) % 7] }[...])
    if path.last == "/" { path += "x" }
  }
  return path
}

private func string(_ input: inout Input) -> String {
  let choice = input.choice(of: 64)
  if choice < texts.count { return texts[choice] }
  return String(decoding: input.bytes(choice), as: UTF8.self).filter { $0 != "\0" }
}

private let texts = [
  InterfaceName.item + ".Label", InterfaceName.item + ".Attributes", InterfaceName.item + ".Type",
  InterfaceName.collection + ".Label", InterfaceName.service, InterfaceName.collection,
  InterfaceName.item, "Label", "Attributes", "Items", "Locked", "Collections", "Modified",
  "plain", Algorithm.dhName, "default", "login", "session", "", "text/plain", "xdg:schema",
  "org.git.Password", "org.gnome.keyring.NetworkPassword", "io.docker.Credentials", "service",
  "username", "user", "server", "protocol", "https", "object", "kist:item", "kist:collection",
  "application", "Python keyring library", "org.rust-lang.cargo.registry", "registry-url",
]
private let boxedTypes = ["s", "a{ss}", "ay", "b", "o", "v", "ao", "t", "a{sv}", "(oayays)", "u"]
