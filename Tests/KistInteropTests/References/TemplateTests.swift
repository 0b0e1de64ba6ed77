import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A template` {
  private func filled(_ text: String) async throws -> String {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(.sample(CredentialKey(service: "s", account: "a"), secret: "{{one}}"))
    try await storage.save(.sample(CredentialKey(service: "s"), secret: "two\n"))
    return try await Template(reading: Secret(utf8: text)).filled(from: storage).text
  }

  @Test(arguments: [
    ("", ""),
    ("a\r\nb", "a\r\nb"),
    ("{{ kist://s/a }}", "{{one}}"),
    ("{{kist://s/a}}{{\tkist://s }}!", "{{one}}two\n!"),
    ("x{{{ kist://s/a }}}y", "x{{{one}}}y"),
    ("{{ .Values.x }} {{ kist://s/a }} {{", "{{ .Values.x }} {{one}} {{"),
    ("{ kist://s/a } kist://s/a", "{ kist://s/a } kist://s/a"),
  ])
  func `gets secrets in their places, and is otherwise as it was`(
    text: String, expected: String
  ) async throws {
    #expect(try await filled(text) == expected)
  }

  @Test(arguments: [
    ("a\n{{ kist://s/a }\n", "line 2 of the template has a reference without }} after it"),
    ("{{ kist://s/a", "line 1 of the template has a reference without }} after it"),
    ("{{ kist:// }}", "line 1 of the template has no reference kist://SERVICE/ACCOUNT"),
    ("{{ kist://s/a b }}", "line 1 of the template has a reference without }} after it"),
    ("{{ kist://s/a\n}}", "line 1 of the template has a reference without }} after it"),
    ("\n\n{{ kist://t }}", "line 3 of the template: there is no such credential"),
  ])
  func `is refused by the line where a place cannot be filled`(
    text: String, message: String
  ) async {
    let error = await #expect(throws: StorageError.self) { try await filled(text) }
    #expect(error?.message == message)
  }

  @Test func `refers to the services that are named, where some are`() throws {
    let template = try Template(reading: Secret(utf8: "{{ kist://s/a }}\n{{ kist://t/hunter2 }}"))
    try template.check(only: [])
    try template.check(only: ["t", "s"])
    let error = #expect(throws: StorageError.self) { try template.check(only: ["s", "hunter2"]) }
    #expect(error?.code == .denied)
    #expect(
      error?.message
        == "line 2 of the template: the reference names a service that `--only` does not allow")
  }

  @Test func `refers to a service by its bytes`() throws {
    let template = try Template(reading: Secret(utf8: "{{ kist://caf%C3%A9/a }}"))
    try template.check(only: ["caf\u{E9}"])
    #expect(throws: StorageError.self) { try template.check(only: ["cafe\u{301}"]) }
  }

  @Test func `makes no more than 16 MiB`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let secret = String(repeating: "x", count: Limits.secret)
    try await storage.save(.sample(CredentialKey(service: "s"), secret: secret))
    for (count, end, fits) in [(32, "", true), (33, "", false), (32, "x", false)] {
      let text = String(repeating: "{{kist://s}}", count: count) + end
      let template = try Template(reading: Secret(utf8: text))
      if fits {
        #expect(try await template.filled(from: storage).count == 16 << 20)
      } else {
        let error = await #expect(throws: StorageError.self) {
          try await template.filled(from: storage)
        }
        #expect(error?.code == .tooLarge)
      }
    }
  }
}
