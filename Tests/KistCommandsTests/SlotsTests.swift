import Foundation
import KistCore
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist slots` {
  @Test func `shows a slot of an unknown kind, and does not count it as one that opens the file`()
    async
  {
    var slots = KeySlots.unimplemented
    slots.list = {
      [
        KeySlotSummary(number: 1, kind: .keyFile), KeySlotSummary(number: 3, kind: .unknown),
        KeySlotSummary(number: 4, kind: .unknown),
      ]
    }
    slots.remove = { [slots] removal throws(StorageError) in
      #expect(removal == KeySlotRemoval(number: 3))
      return try await slots.list().filter { $0.number != removal.number }
    }
    let recorder = Recorder()
    let terminal = recorder.terminal()
    var statuses: [CInt] = []
    for arguments in [
      [], ["--remove", "1", "--yes"], ["--remove", "3"], ["--remove", "3", "--yes"],
    ] {
      statuses.append(
        await Kist.status(of: ["slots"] + arguments, on: terminal) { [slots] command in
          try await (command as! any RequiresKeySlots).perform(slots, terminal)
        })
    }
    #expect(statuses == [0, 64, 64, 0])
    #expect(
      recorder.output
        == "1\tkey file\n3\tunknown\n4\tunknown\n" + "1\tkey file\n4\tunknown\n")
    #expect(recorder.error.contains("slot 1, key file, is the only key slot"))
    #expect(recorder.error.contains("slot 1 would be the only key slot"))
  }

  @Test(arguments: [
    ([1], "the key file still opens the store, too", "`kist slots --remove 1 --socket /s`"),
    ([1, 3], "2 key files still open the store, too", "`kist slots --remove NUMBER --socket /s`"),
    ([], "", ""),
  ])
  func `of key files are reported at a terminal after the passphrase is set`(
    keyFiles: [Int], message: String, command: String
  ) async {
    var slots = KeySlots.unimplemented
    let all = keyFiles.map { KeySlotSummary(number: $0, kind: .keyFile) }
    slots.list = { all }
    slots.add = { _ in all + [KeySlotSummary(number: 4, kind: .passphrase)] }
    for isTerminal in [true, false] {
      let recorder = Recorder()
      let terminal = recorder.terminal(
        input: Secret(utf8: "correct horse"), outputIsTerminal: isTerminal)
      let words = ["passphrase", "set", "--socket", "/s", "--key-file", "/dev/null"]
      let status = await Kist.status(of: words, on: terminal) { [slots] command in
        try await (command as! any RequiresKeySlots).perform(slots, terminal)
      }
      #expect(status == 0)
      guard isTerminal, !keyFiles.isEmpty else {
        #expect(recorder.error == "")
        continue
      }
      #expect(recorder.error.contains(message))
      #expect(recorder.error.contains(command))
    }
  }

  @Test func `fits a terminal of 40 columns`() async {
    var slots = KeySlots.unimplemented
    slots.list = {
      [
        KeySlotSummary(number: 1, kind: .keyFile),
        KeySlotSummary(number: 12, kind: .passphrase, passes: 3, kibibytes: 262144),
      ]
    }
    let recorder = Recorder()
    let terminal = recorder.terminal(isTerminal: true, width: 40)
    let status = await Kist.status(of: ["slots"], on: terminal) { [slots] command in
      try await (command as! any RequiresKeySlots).perform(slots, terminal)
    }
    #expect(status == 0)
    #expect(
      recorder.output == """
        1  key file
        12  passphrase (Argon2id, 3 passes over
            262144 KiB)

        """)
  }

  @Test(arguments: [
    (1, true, ""),
    (2, true, ""),
    (1, false, "remove it: `rm "),
    (1, false, "`kistd key-file add`"),
  ])
  func `names the key file that opens the store no more, and the way back`(
    number: Int, hasAnotherKeyFile: Bool, hint: String
  ) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "kist \(UUID())").path
    try Data(count: 32).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    var slots = KeySlots.unimplemented
    let all = [
      KeySlotSummary(number: 1, kind: .keyFile), KeySlotSummary(number: 2, kind: .passphrase),
      KeySlotSummary(number: 3, kind: hasAnotherKeyFile ? .keyFile : .passphrase),
    ]
    slots.list = { all }
    slots.remove = { removal in all.filter { $0.number != removal.number } }
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: "correct horse"))
    let words = ["slots", "--remove", "\(number)", "--key-file", path]
    let status = await Kist.status(of: words, on: terminal) { [slots] command in
      try await (command as! any RequiresKeySlots).perform(slots, terminal)
    }
    #expect(status == 0, "\(recorder.error)")
    #expect(recorder.error.contains("'\(path)'") == !hasAnotherKeyFile)
    #expect(hint.isEmpty ? recorder.error.isEmpty : recorder.error.contains(hint))
  }
}
