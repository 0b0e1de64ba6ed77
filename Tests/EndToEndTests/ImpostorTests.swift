import Foundation
import KistTesting
import Subprocess
import Testing

/// Texts that control a terminal, that hide or reorder other text, or that imitate another line.
private let hostileTexts = [
  "\u{1B}]0;title\u{7}", "\u{1B}[2J", "x\rkist: deleted", "\u{202E}drow", "\u{9B}2J", "\u{7F}",
  "x\nhint: forged",
]

@Suite(.timeLimit(.minutes(10))) struct `Hostile text` {
  /// Answers each request with a text in every possible field, or with an error that contains it.
  private let impostor = """
    import json, os, socket, sys, threading
    path, text, fails = sys.argv[1], sys.argv[2], sys.argv[3] == "true"
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX); listener.bind(path); listener.listen()
    moment = "2026-11-20T10:00:00Z"
    summary = {"service": "s" + text, "account": "a" + text, "label": "l" + text, "attributes": {"k": text},
               "createdAt": moment, "modifiedAt": moment, "revision": "r" + text, text: text}
    limits = {"line": 1, "secret": 1, "service": 1, "account": 1, "label": 1, "attributes": 1, "attributeName": 1,
              "attributeValue": 1, "attributesTotal": 1, "page": 1, "passphrase": 1}
    status = {"storage": "s" + text, "reason": "r" + text, "locked": False, "unlocksWith": text, "limits": limits,
              "reopensAtRestart": True, "durability": text, "keyProtection": "k" + text, "integrity": text, "count": 1}
    record = {"time": "2026-11-20T10:00:00.007Z", "operation": "o" + text, "outcome": "ok", "microseconds": 1, "pid": 1,
              "uid": 1, "unit": "u" + text, "claims": "c" + text, "evidence": "pidfd", "service": text, "account": text}
    replies = {
        "hello": {"protocol": 1, "version": "v" + text, "operations": [text], "features": [text], "limits": limits,
                  "durability": text},
        "save": {"credential": summary}, "delete": {"deleted": True}, "find": {"credentials": [summary]},
        "load": {"credential": summary | {"secret": "hunter2"}}, "audit": {"records": [record]}, "watch": {},
        "slots": {"slots": [{"number": 1, "kind": "k" + text}]},
    }
    replies |= {operation: {"status": status} for operation in ("status", "lock", "unlock")}
    error = {"code": text, "message": "m" + text, "hint": "h" + text, "outcome": text}

    def serve(client):
        for line in client.makefile("rb"):
            request = json.loads(line)
            answer = {"error": error} if fails else replies.get(request["op"], {"error": error})
            answer = {"id": request["id"]} | answer if "id" in request else answer
            client.sendall(json.dumps({"ok": "error" not in answer} | answer).encode() + b"\\n")
            if request["op"] == "watch" and not fails:
                event = {"event": "saved", "service": "s" + text, "account": "a" + text, "revision": "r" + text}
                client.sendall(json.dumps(event).encode() + b"\\n")
                client.shutdown(socket.SHUT_RDWR)
    threading.Timer(120, os._exit, [1]).start()
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
    """

  /// A command that ends in any case, because no bus listens at this address.
  private let secretService = [
    "DBUS_SESSION_BUS_ADDRESS=unix:path=/dev/null", "kist-secret-service",
  ]

  private func commands(in home: Home) -> [[String]] {
    [
      ["save", "s"], ["load", "s"], ["delete", "s"], ["list"], ["watch", "--no-reconnect"],
      ["status"],
      ["lock"], ["unlock"], ["slots"], ["audit"], ["doctor"], ["passphrase", "set"],
      ["backup", "\(home.path)/copy"],
      ["export", "\(home.path)/export", "--replace"], ["inject"],
      ["run", "--env", "A=kist://s", "--", "true"],
      ["helper", "git", "get"], ["helper", "docker", "get"], ["helper", "aws", "s"],
    ]
  }

  @Test(arguments: hostileTexts, [false, true])
  func `in replies is escaped or omitted before kist prints it`(text: String, fails: Bool)
    async throws
  {
    try await withHome { home in
      _ = try await run(
        .name("python3"), arguments: ["-c", impostor, home.socket, text, "\(fails)"],
        environment: home.environment, input: .string(""), output: .discarded,
        error: .string(limit: 1 << 20)
      ) { execution in
        defer { try? execution.send(signal: .kill) }
        // The socket is missing, or bound but not yet listening.
        while try await command("kist", ["status"], in: home).status == .exited(7) {}
        for words in commands(in: home) {
          for options in words[0] == "helper" ? [[]] : [[], ["--json"]] {
            // The options go before `--`, which begins the command to run.
            // A shell writes the input: commands that read none would send SIGPIPE to this process.
            let end = try await command(
              "sh",
              ["-c", #"printf %s "$0" | kist "$@""#, input(of: words)] + words.prefix(1) + options
                + words.dropFirst(), in: home)
            // This output is in git's protocol, and git escapes it.
            let output = words.contains("git") ? "" : end.output
            expectHarmless(end.error, words + options)
            expectHarmless(output, words + options, isData: options.isEmpty)
          }
        }
      }
    }
  }

  @Test(arguments: hostileTexts)
  func `in paths, variables and arguments is escaped or omitted before it is printed`(text: String)
    async throws
  {
    try await withHome { home in
      let place = "\(home.path)/\(text)"
      for assignments in [
        ["KIST_SOCKET=\(place)"], ["XDG_RUNTIME_DIR=\(place)"],
        [
          "-u", "XDG_RUNTIME_DIR", "HOME=\(place)", "XDG_DATA_HOME=\(place)", "KISTD_DATA=\(place)",
        ],
        ["KIST_SOCKET=\(String(repeating: place, count: 10))"],
      ] {
        for words in [["status"], ["status", "--json"], ["doctor"], ["import", "netrc"]] {
          let end = try await command("env", assignments + ["kist"] + words, in: home)
          expectHarmless(end, assignments + words)
        }
        for words in [["probe"], ["probe", "--json"], ["fsck"], ["--", "true"]] {
          let end = try await command("env", assignments + ["kistd"] + words, in: home)
          expectHarmless(end, assignments + words)
        }
        let end = try await command("env", assignments + secretService, in: home)
        expectHarmless(end, assignments + secretService)
        #expect(end.error.hasPrefix("kist-secret-service: "))
      }
      for words in [
        ["status", "--socket", place], ["\(text)"], ["--\(text)"], ["status", "--\(text)"],
      ] {
        expectHarmless(try await command("kist", words, in: home), words)
        expectHarmless(try await command("kistd", words, in: home), words)
      }
      for words in [["--socket", place], ["--idle-exit", text], ["\(text)"], ["--\(text)"]] {
        let end = try await command("env", secretService + words, in: home)
        expectHarmless(end, words)
        #expect(end.error.hasPrefix("kist-secret-service: "))
      }
    }
  }

  private func input(of words: [String]) -> String {
    switch words[0] {
    case "inject": "{{ kist://s }}"
    case "helper" where words[1] == "git": "protocol=https\nhost=s\n\n"
    default: "x\n"
    }
  }

  private func expectHarmless(_ end: CommandResult, _ words: [String]) {
    for text in [end.error, end.output] { expectHarmless(text, words) }
  }

  /// Expects lines without characters that control a terminal.
  ///
  /// Data for a program may contain characters that reorder text.
  private func expectHarmless(_ text: String, _ words: [String], isData: Bool = false) {
    for line in text.split(separator: "\n") {
      let misleading = line.unicodeScalars.filter { scalar in
        switch scalar.properties.generalCategory {
        case .control: scalar != "\t"
        case .format: !isData
        default: false
        }
      }
      #expect(misleading.isEmpty, "\(words): \(line.debugDescription)")
      #expect(!line.hasPrefix("hint: forged"), "\(words)")
    }
  }
}
