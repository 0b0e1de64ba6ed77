import CLibsecret
import KistCore

@testable import KistLibsecret

/// An item of a keyring from a provider: attributes and a value.
///
/// Attributes are names and values, separated by NULs, up to an empty name. The rest is the value.
let items = Target("items") { input in
  var input = input
  var attributes: [String: String] = [:]
  while !input.isEmpty, case let name = input.text(before: 0), !name.isEmpty {
    attributes[name] = input.text(before: 0)
  }
  let path = ObjectPath(rawValue: "/item/1")
  checkItem(attributes, path, input.byte())
  checkName(input.text(before: 0))
  let value = Secret(copying: input.rest)
  if let secret = try? ItemValue.decode(value, of: path) {
    demand(secret.count <= Limits.secret, "a secret is within the limit")
  }
  demand(
    (try? ItemValue.decode(ItemValue.encode(value), of: path)) == value,
    "a secret is read as it was written")
}

private func checkItem(_ attributes: [String: String], _ path: ObjectPath, _ number: UInt8) {
  let someKey = CredentialKey(service: "s")
  if let encoded = attributes["kist"],
    let bookkeeping = try? Bookkeeping(decoding: encoded, of: someKey, at: path)
  {
    demand(
      (try? Bookkeeping(decoding: bookkeeping.encoded, of: someKey, at: path)) == bookkeeping,
      "bookkeeping is read as it was written")
  }
  guard let key = Item.key(of: attributes) else { return }
  let own = Item.attributes(of: key)
  demand(own.allSatisfy { attributes[$0] == $1 }, "what is listed can be loaded")
  let boxed = Box(attributes)
  let item = wait {
    Box(
      try? await Item(of: key, at: path, boxed.value) {
        .properties([
          "Label": .string(boxed.value["Title"] ?? ""), "Modified": .uint32(UInt32(number)),
        ])
      })
  }.value
  if let item {
    demand(item.summary.key == key, "an item has the requested key")
    demand(item.summary.isWithinLimits, "the summary of an item is within the limits")
  }
}

private func checkName(_ name: String) {
  demand(
    ItemName.decode(ItemName.encode(name)).map { $0.hasSameBytes(as: name) } ?? false,
    "a name is read as it was written")
}
