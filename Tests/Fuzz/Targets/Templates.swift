import KistCore

@testable import KistInterop

/// Templates, files of variables and references: a text without references stays unchanged, and so
/// does a text filled with its own references.
let templates = Target("templates") { input in
  var input = input
  let kind = input.choice(of: 3)
  let text = Secret(copying: input.rest)
  switch kind {
  case 0: checkTemplate(text)
  case 1: checkFile(text)
  default: checkReference(String(decoding: text.bytes, as: UTF8.self))
  }
}

private func checkTemplate(_ text: Secret) {
  guard let template = try? Template(reading: text) else { return }
  let asked = Box(0)
  guard let filled = fill(template, { asked.value += $0.account.count + 1 }) else {
    return demand(text.count > 1 << 16, "a template is filled")
  }
  if asked.value == 0 { demand(filled == text, "a text without references stays unchanged") }
  guard let again = try? Template(reading: filled) else {
    return demand(false, "what was filled with references is a template")
  }
  demand(fill(again, { _ in }) == filled, "a text filled with references stays unchanged")
}

private func fill(
  _ template: Template, _ asking: @escaping @Sendable (CredentialKey) -> Void
) -> Secret? {
  var storage = UserStorage.inMemory()
  let summary = CredentialSummary(
    key: CredentialKey(service: "s"), createdAt: Timestamp(clamping: 0),
    modifiedAt: Timestamp(clamping: 0), revision: Revision(rawValue: "1"))
  storage.load = { request in
    asking(request.key)
    return Credential(
      summary: summary, secret: Secret(utf8: "{{ \(CredentialReference(request.key)) }}"))
  }
  let boxed = storage
  return wait { try? await template.filled(from: boxed) }
}

private func checkFile(_ text: Secret) {
  guard let variables = try? Variable.variables(inFile: text, place: "file") else { return }
  var copy: [UInt8] = []
  for variable in variables {
    copy += (variable.name + "=").utf8
    switch variable.value {
    case .text(let value): copy += value.bytes
    case .reference(let reference): copy += reference.description.utf8
    }
    copy += "\r\n".utf8
  }
  let again = try? Variable.variables(inFile: Secret(copying: copy), place: "file")
  demand(
    again.map { zip($0, variables).allSatisfy { $0.name == $1.name && $0.value == $1.value } }
      ?? false && again?.count == variables.count,
    "variables are read as they were written")
  let storage = UserStorage.inMemory()
  wait { _ = try? await settings(of: variables, from: storage) }
}

private func checkReference(_ text: String) {
  _ = try? Variable(text, of: "option", place: "option")
  guard let reference = CredentialReference(text) else { return }
  demand(
    CredentialReference(reference.description) == reference, "a reference is read as it was written"
  )
}
