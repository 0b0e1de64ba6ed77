import KistCore

@testable import KistJSON

/// The reader and the writer: writing what was read returns the same text, and decoding and
/// encoding returns the same value.
let json = Target("json") { input in
  let text = Secret(copying: input.rest)
  checkText(text)
  guard let object = try? JSONObject(text) else {
    _ = JSONObject(beforeFaultIn: text)["id"].map(visit)
    return
  }
  let copy = JSONWriter.object { $0.members(read: object, except: []) }
  guard let read = try? JSONObject(copy) else {
    return demand(false, "what was read can be written and read again")
  }
  demand(
    JSONWriter.object { $0.members(read: read, except: []) } == copy,
    "what was written is written the same again")
  visit(object)
  for name in ["a", "id", "op", "attributes", "list"] as [StaticString] {
    object[name].map(visit)
    demand(object[name] == nil || (try? object.refuseKeys(except: [])) == nil, "a key is known")
  }
  if let strings = try? object.strings(as: "object") {
    let copy = JSONWriter.object { writer in
      for (name, value) in strings { writer.member(escaping: name, value) }
    }
    let again = try? JSONObject(copy).strings(as: "object")
    demand(
      again.map { same($0, strings) } ?? false, "an object of strings is read as it was written")
  }
}

private func visit(_ object: JSONObject) {
  _ = try? object.required("a").integer()
}

private func same(_ left: [(name: String, value: String)], _ right: [(name: String, value: String)])
  -> Bool
{
  left.count == right.count
    && zip(left, right).allSatisfy {
      $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
    }
}

private func visit(_ value: JSONValue) {
  if let integer = try? value.integer() {
    let digits = Array(String(integer).utf8)
    demand(
      integer == 0 || value.withText { $0.count == digits.count && digits.span[0] == $0[0] },
      "an integer is written as it was")
  }
  if let text = try? value.string(), let secret = try? value.secret() {
    demand(secret == Secret(utf8: text), "a text is the same as a string and as a secret")
    let copy = JSONWriter.object { $0.member("a", text: secret) }
    demand(
      (try? JSONObject(copy).required("a").secret()) == secret, "a string is read as it was written"
    )
  }
  if let bytes = try? value.base64() {
    var text = WipedBytes()
    bytes.withBytes { appendBase64($0, to: &text) }
    demand((try? value.secret()) == Secret(text), "base64 is canonical")
  }
  _ = value.isNull
  _ = try? value.bool()
  if let object = try? value.object() { visit(object) }
  for element in (try? value.elements()) ?? [] { visit(element) }
}

/// Any bytes, as a secret is written as text where it can be.
private func checkText(_ text: Secret) {
  let copy = JSONWriter.object { $0.member("a", base64: text) }
  demand((try? JSONObject(copy).required("a").base64()) == text, "base64 is read as it was written")
  guard let count = text.withBytes(textCount(of:)) else { return }
  let written = JSONWriter.object { $0.member("a", text: text) }
  demand(written.count == count + #"{"a":""}"#.utf8.count, "a text has the predicted length")
  demand(
    (try? JSONObject(written).required("a").secret()) == text, "a text is read as it was written")
}
