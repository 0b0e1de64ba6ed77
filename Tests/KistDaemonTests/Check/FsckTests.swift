import Foundation
import KistCore
import KistTesting
import Testing

@testable import KistDaemon
@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `kistd fsck` {
  @Test func `says that a store is whole, and how many credentials it has`() async throws {
    try await withStore { home, path in
      let end = try await fsck(in: home, endsWith: 0)
      #expect(end.output == "\(path) is intact: 2 credentials\n")
      #expect(!end.error.contains("kistd"))
      let json = try await fsck(["--json"], in: home, endsWith: 0).output
      #expect(
        json == """
          {"store":"\(path)","state":"whole","counted":2,"found":2,"good":2,"faults":[]}

          """)
    }
  }

  @Test func `changes nothing, not even a mode that others can read by`() async throws {
    try await withStore { home, path in
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      let folder = home + "/.local/share/kist"
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      let before = try Data(contentsOf: URL(filePath: path))
      _ = try await fsck(in: home, endsWith: 0)
      #expect(mode(of: path) == 0o644)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names)
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
    }
  }

  @Test func `says what is damaged, with status 10, and salvages the rest`() async throws {
    try await withStore { home, path in
      try damage(path)
      let before = try Data(contentsOf: URL(filePath: path))
      let end = try await fsck(in: home, endsWith: 10)
      #expect(
        end.output == """
          \(path) is damaged: 1 of 2 credentials intact
          - credential: kist://example.org/alice: its secret fails authentication
          nothing was changed
          hint: restore the store from a backup, or copy intact credentials into a new \
          store: add `--salvage DIRECTORY` to this command

          """)
      let salvage = try await fsck(["--salvage", home + "/new"], in: home, endsWith: 10).output
      #expect(salvage.contains("\ncopied 1 credential into \(home)/new/credentials.db, "))
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
      let new = try await fsck(["--data", home + "/new"], in: home, endsWith: 0).output
      #expect(new == "\(home)/new/credentials.db is intact: 1 credential\n")
      let again = try await fsck(["--salvage", home + "/new"], in: home, endsWith: 3).error
      #expect(again.contains("there is a store at"))
      let own = URL(filePath: path).deletingLastPathComponent().path
      let itself = try await fsck(["--salvage", own + "/../kist"], in: home, endsWith: 3).error
      #expect(itself.contains("there is a store at"))
    }
  }

  @Test func `reports that a store is older, and how to accept it`() async throws {
    try await withStore { home, path in
      try await putBack(path, in: home)
      let output = try await fsck(in: home, endsWith: 10).output
      #expect(
        output.hasPrefix(
          "\(path) is intact, but kistd refuses it, because it is an older copy: 2 credentials\n"
            + "- progress: the store is an older copy: "))
      #expect(
        output.contains(
          "\nhint: nothing was changed; put the newer store back, and run `kist unlock`; or, "))
      #expect(!output.contains("damaged"))
      let accepting = "run `kistd --accept-rollback -- kist unlock` once"
      #expect(output.contains(accepting))
      let salvage = try await fsck(["--salvage", home + "/new"], in: home, endsWith: 0).output
      #expect(salvage.contains(accepting))
    }
  }

  @Test func `of a store whose note cannot be used warns, and reports no fault`() async throws {
    try await withStore { home, path in
      try await putBack(path, in: home)
      let state = home + "/.local/state/kist"
      let note = try #require(
        FileManager.default.contentsOfDirectory(atPath: state).first { $0.hasPrefix("progress-") })
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o644], ofItemAtPath: "\(state)/\(note)")
      let end = try await fsck(in: home, endsWith: 0)
      #expect(end.output.contains(" is intact: "))
      #expect(end.error.contains("warning: kistd cannot use its progress note, so it cannot"))
    }
  }

  @Test func `prints each fault separately in JSON`() async throws {
    try await withStore { home, path in
      try damage(path)
      let json = try await fsck(["--json"], in: home, endsWith: 10).output
      #expect(
        json == """
          {"store":"\(path)","state":"damaged","counted":2,"found":2,"good":1,"faults":[\
          {"part":"credential","service":"example.org","account":"alice",\
          "message":"its secret fails authentication"}]}

          """)
    }
  }

  @Test func `notes data of a later version of kist, which is not a fault`() {
    var examination = EncryptedFile.Examination()
    examination.counted = 2
    examination.found = 2
    examination.good = 2
    examination.unknownSlots = [3]
    examination.extended = 2
    let report = FsckReport(store: "STORE", examination: examination)
    #expect(report.exitStatus == 0)
    #expect(
      report.lines == [
        "STORE is intact: 2 credentials",
        "- note: key slot 3 is of a kind that this kistd does not know",
        "- note: a later version of kist added data to 2 credentials, and this kistd does not know "
          + "that data",
      ])
    #expect(
      report.json
        == Secret(
          utf8: """
            {"store":"STORE","state":"whole","counted":2,"found":2,"good":2,"faults":[],"notes":[\
            "key slot 3 is of a kind that this kistd does not know",\
            "a later version of kist added data to 2 credentials, and this kistd does not know \
            that data"]}
            """))
  }

  @Test func `reports the rows that a salvage left out, which then is not complete`() {
    var examination = EncryptedFile.Examination()
    (examination.counted, examination.found, examination.good) = (2, 2, 2)
    examination.faults = [.init(part: .credential, message: "it is stored twice")]
    let report = FsckReport(
      store: "STORE", examination: examination,
      copies: FsckReport.Copies(count: 1, leftOut: 1, directory: "DIRECTORY"))
    #expect(report.exitStatus == 10)
    #expect(
      report.lines.contains(
        "left out 1 intact row with the name of a copied credential: of rows with one name, only the "
          + "newest is copied, or the first of equally new ones"))
  }

  @Test func `without the key reports what was not examined, with the status of the reason`()
    async throws
  {
    try await withStore { home, path in
      try FileManager.default.removeItem(atPath: home + "/.local/state/kist/key")
      let output = try await fsck(in: home, endsWith: 5).output
      #expect(output.hasPrefix("\(path) shows no damage, but was not decrypted: 2 credentials\n"))
      #expect(output.contains("encrypted data was not checked: the store's key file"))
      #expect(output.contains("hint: name its key file with --key-file"))
      let salvage = try await fsck(["--salvage", home + "/new"], in: home, endsWith: 5).error
      #expect(salvage.contains("hint: name its key file with --key-file"))
      #expect(mode(of: home + "/new") == nil)
      let json = try await fsck(["--json"], in: home, endsWith: 5).output
      #expect(json.contains(#""state":"locked","counted":"#) == false)
      #expect(json.contains(#""locked":{"code":"locked","message":"#))
    }
  }

  @Test func `of a store that kistd serves ends with status 12, and of none with 2`() async throws {
    try await withStore { home, path in
      let store = try await EncryptedFile.open(options(in: home))
      // It does not read a passphrase before.
      let busy = try await fsck(["--passphrase-fd", "70"], in: home, endsWith: 12).error
      #expect(busy.contains("the store is in use by pid \(getpid())"))
      await store.close()
      let none = try await fsck(["--data", home + "/none"], in: home, endsWith: 2).error
      #expect(none.contains("there is no store at \(home)/none/credentials.db"))
      #expect(mode(of: home + "/none") == nil)
    }
  }

  @Test func `with --json prints its errors as one line of JSON on standard error`() async throws {
    try await withDirectory { home in
      let none = try await fsck(["--json", "--data", home + "/none"], in: home, endsWith: 2)
      #expect(
        none.error == """
          {"code":"notFound","message":"there is no store at \(home)/none/credentials.db",\
          "hint":"name its directory with --data"}

          """)
      let wrong = try await fsck(["word", "--json"], in: home, endsWith: 64).error
      #expect(wrong.hasPrefix(#"{"code":"badRequest","message":"unexpected argument","hint":"#))
    }
  }

  @Test(arguments: [["--salvage", ""], ["--deadline", "1s"], ["word"]])
  func `refuses words that make no sense with status 64`(words: [String]) async throws {
    try await withStore { home, _ in
      let error = try await fsck(words, in: home, endsWith: 64).error
      #expect(error.contains("`kistd fsck --help`"))
    }
  }

  @Test func `leaves out the number of credentials if it is damaged, too`() async throws {
    try await withStore { home, path in
      try damage(path) { $0.counted == nil && $0.good == 2 }
      let end = try await fsck(in: home, endsWith: 10)
      let head =
        "\(path) is damaged: 2 of 2 credentials intact; the original number is unknown\n"
      #expect(end.output.hasPrefix(head), "\(end.output)")
    }
  }

  /// Lends a home with a store of two credentials, and the path of the store.
  private func withStore(
    _ body: nonisolated(nonsending) (_ home: String, _ path: String) async throws -> Void
  ) async throws {
    try await withDirectory { home in
      let options = options(in: home)
      let store = try await EncryptedFile.open(options)
      try await store.credentials.save(.sample())
      try await store.credentials.save(.sample(.init(service: "another")))
      await store.close()
      try await body(home, options.path)
    }
  }

  /// Deletes a credential from the store, and puts it back as it was before.
  private func putBack(_ path: String, in home: String) async throws {
    let older = try Data(contentsOf: URL(filePath: path))
    var options = options(in: home)
    options.progress = .init(directory: home + "/.local/state/kist")
    let store = try await EncryptedFile.open(options)
    _ = try await store.credentials.delete(.sample)
    await store.close()
    try older.write(to: URL(filePath: path))
  }

  private func options(in home: String) -> EncryptedFile.Options {
    .init(
      path: home + "/.local/share/kist/credentials.db",
      keySource: .keyFile(path: home + "/.local/state/kist/key"))
  }

  /// Changes a byte that is sealed, for which no sum and no page has to be right: of a secret, unless
  /// another damage is asked for.
  private func damage(
    _ path: String,
    until isDamaged: (EncryptedFile.Examination) -> Bool = {
      $0.faults.count == 1 && $0.faults[0].key == .sample
    }
  ) throws {
    let key = (path as NSString).deletingLastPathComponent + "/../../state/kist/key"
    var bytes = try Data(contentsOf: URL(filePath: path))
    for offset in stride(from: bytes.count - 1, through: 4096, by: -1) where bytes[offset] != 0 {
      bytes[offset] ^= 1
      try bytes.write(to: URL(filePath: path))
      let found = try EncryptedFile.examine(path: path, keySource: .keyFile(path: key))
      if isDamaged(found) { return }
      bytes[offset] ^= 1
    }
    Issue.record("no such byte was found")
  }

  private func fsck(
    _ words: [String] = [], in home: String, endsWith status: CInt
  ) async throws -> (output: String, error: String) {
    let end = await #expect(
      processExitsWith: .exitCode(status),
      observing: [\.standardOutputContent, \.standardErrorContent]
    ) { [words = words as [String], home = home as String] in
      await runKistd(["fsck"] + words, home: home)
    }
    let result = try #require(end)
    return (
      String(decoding: result.standardOutputContent, as: UTF8.self),
      String(decoding: result.standardErrorContent, as: UTF8.self)
    )
  }
}
