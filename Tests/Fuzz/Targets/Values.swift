import CLibsecret

// D-Bus values from an input, with floating references as in GLib.

/// Returns a value of a type in the notation of D-Bus.
func value(of type: String, _ input: inout Input) -> OpaquePointer {
  var rest = type.utf8.map { $0 }[...]
  return value(&rest, &input)
}

/// Removes the first type of a signature, and returns it.
private func value(_ type: inout ArraySlice<UInt8>, _ input: inout Input) -> OpaquePointer {
  switch Unicode.Scalar(type.removeFirst()) {
  case "b": return g_variant_new_boolean(gboolean(input.byte() & 1))
  case "y": return g_variant_new_byte(input.byte())
  case "u": return g_variant_new_uint32(UInt32(input.byte()) << (input.byte() & 31))
  case "t": return g_variant_new_uint64(guint64(input.byte()) << (input.byte() & 63))
  case "d": return g_variant_new_double(Double(input.byte()))
  case "o": return path(paths[input.choice(of: paths.count)])
  case "v":
    let type = boxedTypes[input.choice(of: boxedTypes.count)]
    return boxed(value(of: type, &input))
  case "(": return tuple(values(&type, before: ")", &input))
  case "{":
    let entry = values(&type, before: "}", &input)
    return g_variant_new_dict_entry(entry[0], entry[1])
  case "a": return array(&type, &input)
  default: return string(&input)
  }
}

private func values(
  _ type: inout ArraySlice<UInt8>, before end: Unicode.Scalar, _ input: inout Input
) -> [OpaquePointer] {
  var values: [OpaquePointer] = []
  while type.first != UInt8(ascii: end) { values.append(value(&type, &input)) }
  type.removeFirst()
  return values
}

private func array(_ type: inout ArraySlice<UInt8>, _ input: inout Input) -> OpaquePointer {
  let element = firstType(of: type)
  defer { type.removeFirst(element.count) }
  let signature = String(decoding: element, as: UTF8.self)
  let choice = input.choice(of: 16)
  if choice == 0 {
    switch signature {
    case "y": return bytes(Array("secret".utf8))
    case "{ss}": return attributes(&input)
    case "s": return array(of: "s", [text("org.freedesktop.secrets")])
    default: break
    }
  }
  // An honest provider has one of everything.
  let elements = (0..<(choice == 0 ? 1 : choice - 1)).map { _ in
    var element = element
    return value(&element, &input)
  }
  return array(of: signature, elements)
}

func array(of type: String, _ elements: [OpaquePointer]) -> OpaquePointer {
  let elements = elements.map(Optional.init)
  return type.withCString {
    g_variant_new_array(g_variant_type_checked_($0), elements, gsize(elements.count))
  }
}

/// Returns the first type of a signature.
private func firstType(of signature: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
  var depth = 0
  for (offset, byte) in signature.enumerated() {
    if "({".utf8.contains(byte) { depth += 1 }
    if ")}".utf8.contains(byte) { depth -= 1 }
    if depth == 0, byte != UInt8(ascii: "a") { return signature.prefix(offset + 1) }
  }
  return signature
}

/// The attributes of an item of kist, or of another program.
private func attributes(_ input: inout Input) -> OpaquePointer {
  var attributes = [
    ("xdg:schema", "io.kist.Credential"), ("service", "s"), ("account", "u"),
  ]
  switch input.choice(of: 8) {
  case 0: break
  case 1: attributes.append(("Title", "t"))
  case 2: attributes.append(("other", "o"))
  case 3: attributes.removeLast()
  default: attributes.append(("kist", bookkeeping))
  }
  let entries = attributes.map { g_variant_new_dict_entry(text($0), text($1))! }
  return array(of: "{ss}", entries)
}

func text(_ text: String) -> OpaquePointer { g_variant_new_string(text) }
func path(_ path: String) -> OpaquePointer { g_variant_new_object_path(path) }
func boxed(_ value: OpaquePointer) -> OpaquePointer { g_variant_new_variant(value) }

func bytes(_ bytes: [UInt8]) -> OpaquePointer {
  "y".withCString {
    g_variant_new_fixed_array(g_variant_type_checked_($0), bytes, gsize(bytes.count), 1)
  }
}

func tuple(_ members: [OpaquePointer]) -> OpaquePointer {
  let members = members.map(Optional.init)
  return g_variant_new_tuple(members, gsize(members.count))
}

private func string(_ input: inout Input) -> OpaquePointer {
  let choice = input.choice(of: 16)
  if choice < texts.count { return text(texts[choice]) }
  return text(String(decoding: input.bytes(choice), as: UTF8.self).filter { $0 != "\0" })
}

private let texts = [":1.2", "s", "u", "", "text/plain", "Label", "Modified", "Created", "kist"]
private let paths = ["/i/1", "/", "/i/2", "/c", "/p", "/s"]
private let boxedTypes = [
  "t", "s", "b", "a{ss}", "ay", "o", "as", "u", "v", "(ss)", "a{sv}", "aay", "ao",
]

// `{"version":1,"generation":5,"revision":"a.1","attributes":{},"createdAt":…,"modifiedAt":…}`
private let bookkeeping =
  "eyJ2ZXJzaW9uIjoxLCJnZW5lcmF0aW9uIjo1LCJyZXZpc2lvbiI6ImEuMSIsImF0dHJpYnV0ZXMiOnt9LCJjcmVh"
  + "dGVkQXQiOiIyMDI2LTExLTIwVDEwOjAwOjAwWiIsIm1vZGlmaWVkQXQiOiIyMDI2LTExLTIwVDEwOjAwOjAwWiJ9"
