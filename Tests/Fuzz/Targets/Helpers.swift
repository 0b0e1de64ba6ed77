import KistCore
import KistInterop
import KistJSON

/// Requests of other tools to a helper, with a storage that contains a credential for each tool.
///
/// The first line of an input is the tool and its arguments, separated by tabs. The second is the
/// value of every environment variable. The rest is standard input.
let helpers = Target("helpers") { input in
  var input = input
  let words = input.text(before: UInt8(ascii: "\n"))
    .split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
  let variable = input.text(before: UInt8(ascii: "\n"))
  let standardInput = Secret(copying: input.rest)
  guard let tool = Tool(rawValue: words[0]) else { return }
  let call = HelperCall(
    arguments: Array(words.dropFirst()),
    variable: { name in
      // Without these variables, ssh asks for a secret.
      variable.isEmpty || name == "SSH_ASKPASS_PROMPT" && variable.hasPrefix("kist:")
        ? nil : variable
    },
    readInput: { standardInput }, now: { now })
  wait {
    let storage = await filledStorage()
    guard let answer = tool.answer else {
      for line in standardInput.bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 3) {
        let reply = await answerCargo(Secret(copying: Array(line)), storage, now: now) { _ in
          Secret(utf8: variable)
        }
        checkLine(reply)
      }
      return
    }
    let first = await answer(call, storage)
    check(first, of: tool, call)
    let second = await answer(call, storage)
    check(second, of: tool, call)
    if call.arguments.first == "get" {
      demand(first == second, "the same request has the same answer")
    }
    if tool == .git, call.arguments == ["store"], first.complaint == nil {
      var get = call
      get.arguments = ["get"]
      check(await answer(get, storage), of: tool, get)
    }
  }
}

private let now = Timestamp(clamping: 1_800_000_000)

private func check(_ answer: HelperAnswer, of tool: Tool, _ call: HelperCall) {
  guard answer.complaint == nil, answer.status == 0, !answer.output.isEmpty else { return }
  switch (tool, call.arguments.first) {
  case (.git, "get"):
    let text = answer.output.bytes
    demand(!text.contains(0) && !text.contains(UInt8(ascii: "\r")), "git can read the answer")
    for line in text.split(separator: UInt8(ascii: "\n")) {
      demand(line.contains(UInt8(ascii: "=")), "an answer to git is key=value")
    }
  case (.docker, "get"), (.docker, "list"), (.aws, _), (.kubectl, _), (.terraform, "get"):
    demand((try? JSONObject(answer.output)) != nil, "an answer is one object")
  case (.askpass, _):
    demand(
      answer.output.bytes.filter { $0 == UInt8(ascii: "\n") }.count == 1, "an answer is one line")
  default: break
  }
}

private func checkLine(_ reply: Secret) {
  let bytes = reply.bytes
  demand(
    bytes.last == UInt8(ascii: "\n") && !bytes.dropLast().contains(UInt8(ascii: "\n")),
    "a reply is one line")
  demand((try? JSONObject(reply)) != nil, "a reply is one object")
}

/// One credential for each tool, and one with bytes that are not text.
private func filledStorage() async -> UserStorage {
  let storage = UserStorage.inMemory(now: { now })
  for (service, account) in [
    ("https://h", "u"), ("cargo:u", ""), ("aws:n", "ID"), ("aws-session-token:n", "ID"),
    ("kubectl:n", "token"), ("kubectl:n", "client-certificate"), ("kubectl:n", "client-key"),
    ("terraform:h", ""), ("s", "u"), ("s", ""), ("oauth_refresh_token:https://h", "u"),
  ] {
    let key = CredentialKey(service: service, account: account)
    _ = try! await storage.save(
      SaveRequest(credential: NewCredential(key: key, secret: Secret(utf8: "secret"))))
  }
  for service in ["https://b", "cargo:b", "aws:b", "terraform:b", "b"] {
    let key = CredentialKey(service: service, account: service == "b" ? "b" : "")
    _ = try! await storage.save(
      SaveRequest(
        credential: NewCredential(
          key: key, secret: Secret(copying: [0xFF, 0x0A, 0]), attributes: ["authtype": "Bearer"],
          expiresAt: now.advanced(bySeconds: 60))))
  }
  return storage
}
