internal import KistCore
internal import KistJSON

private let fields: [(name: String, field: KeptFields)] = [
  ("label", .label), ("attributes", .attributes), ("expiresAt", .expiresAt),
]

extension KeptFields {
  /// The names of these fields in the protocol.
  var names: [String] { fields.filter { contains($0.field) }.map(\.name) }
}

extension JSONValue {
  func keptFields() throws(JSONError) -> KeptFields {
    var kept: KeptFields = []
    for name in try texts() {
      guard let field = fields.first(where: { $0.name == name })?.field else {
        throw error("must have only `label`, `attributes` and `expiresAt`")
      }
      kept.insert(field)
    }
    return kept
  }
}
