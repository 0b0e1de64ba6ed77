import KistCore
import KistFile
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The storage that is chosen` {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let asked: StorageKind?
    let pin: Pin?
    let namesCluster: Bool
    let probes: Probes
    let chosen: StorageKind?

    init(
      _ description: String, asked: StorageKind? = nil, pin: Pin? = nil, namesCluster: Bool = false,
      keyring: StorageProbe? = nil, file: StorageProbe = absent, shared: StorageProbe = absent,
      is chosen: StorageKind?
    ) {
      testDescription = description
      self.asked = asked
      self.pin = pin
      self.namesCluster = namesCluster
      probes =
        (keyring.map { [(.libsecret, $0)] } ?? []) + [(.encryptedFile, file), (.shared, shared)]
      self.chosen = chosen
    }

    func select() throws(StorageError) -> Selection {
      try Selection.select(asked: asked, pin: pin, namesCluster: namesCluster, probes)
    }
  }

  private static let inKeyring = Pin(kind: .libsecret, storeID: nil)
  private static let inFile = Pin(kind: .encryptedFile, storeID: "a")
  private static let noBus = StorageError(.unavailable, "there is no session bus")
  private static let absent = StorageProbe.open(hasCredentials: false)
  private static let empty = StorageProbe.open(hasCredentials: false, id: "a")
  private static let filled = StorageProbe.open(hasCredentials: true, id: "a")
  private static let damaged = StorageProbe.unusable(StorageError(.corrupt, "damaged"))

  @Test(arguments: [
    // There are no credentials yet.
    Case("an open keyring", keyring: .open(hasCredentials: false), is: .libsecret),
    Case("a locked keyring", keyring: .locked, is: .libsecret),
    Case("no keyring", keyring: .unusable(noBus), is: .encryptedFile),
    Case("an empty file", keyring: .open(hasCredentials: false), file: empty, is: .libsecret),
    Case("an empty file, locked", keyring: .locked, file: empty, is: .libsecret),
    Case("an empty file alone", keyring: .unusable(noBus), file: empty, is: .encryptedFile),
    // There are credentials, and the pin is lost.
    Case("a keyring in use", keyring: .open(hasCredentials: true), is: .libsecret),
    Case("with an empty file", keyring: .open(hasCredentials: true), file: empty, is: .libsecret),
    Case("a file in use", keyring: .open(hasCredentials: false), file: filled, is: .encryptedFile),
    Case("a file, and a lock", keyring: .locked, file: filled, is: .encryptedFile),
    Case("a file alone", keyring: .unusable(noBus), file: filled, is: .encryptedFile),
    Case("both in use", keyring: .open(hasCredentials: true), file: filled, is: nil),
    Case("a damaged file", keyring: .open(hasCredentials: true), file: damaged, is: nil),
    Case("a damaged file alone", keyring: .unusable(noBus), file: damaged, is: nil),
    // The user named a cluster.
    Case("no vault yet", namesCluster: true, keyring: .open(hasCredentials: false), is: nil),
    Case("an empty vault", namesCluster: true, shared: empty, is: .shared),
    Case("a vault that cannot be read", namesCluster: true, shared: damaged, is: nil),
    Case(
      "no vault yet, and a file in use", namesCluster: true, file: filled, is: .encryptedFile),
    Case(
      "no vault yet, and the file asked for", asked: .encryptedFile, namesCluster: true,
      is: .encryptedFile),
    // One was asked for by name.
    Case("the keyring", asked: .libsecret, is: .libsecret),
    Case("the keyring, beside an empty file", asked: .libsecret, file: empty, is: .libsecret),
    Case("the keyring, beside a file in use", asked: .libsecret, file: filled, is: nil),
    Case("the keyring, beside a damaged file", asked: .libsecret, file: damaged, is: nil),
    Case("the file", asked: .encryptedFile, is: .encryptedFile),
    Case("the file in use", asked: .encryptedFile, file: filled, is: .encryptedFile),
    // One is pinned.
    Case("pinned to the keyring", pin: inKeyring, is: .libsecret),
    Case("pinned and asked for", asked: .libsecret, pin: inKeyring, is: .libsecret),
    Case("pinned, and the file asked for", asked: .encryptedFile, pin: inKeyring, is: nil),
    Case("pinned to the file", pin: inFile, file: filled, is: .encryptedFile),
    Case("pinned to the empty file", pin: inFile, file: empty, is: .encryptedFile),
    Case(
      "pinned to the file, and asked for", asked: .encryptedFile, pin: inFile, file: filled,
      is: .encryptedFile),
    Case(
      "pinned to the file, and the keyring asked for", asked: .libsecret, pin: inFile, file: filled,
      is: nil),
    Case("pinned to a file that is gone", pin: inFile, file: absent, is: nil),
    Case("pinned to a file that is damaged", pin: inFile, file: damaged, is: nil),
    Case(
      "pinned to another file", pin: inFile, file: .open(hasCredentials: true, id: "b"), is: nil),
  ])
  func `is the one that cannot make credentials vanish`(example: Case) throws {
    if let chosen = example.chosen {
      #expect(try example.select().kind == chosen)
    } else {
      let error = #expect(throws: StorageError.self) { try example.select() }
      #expect(error?.code == .unavailable || error?.code == .corrupt)
      #expect(error?.code == .corrupt || error?.hint != nil)
    }
  }

  @Test func `is reported with the reason`() throws {
    let selection = try Case("", keyring: .unusable(Self.noBus), is: nil).select()
    #expect(selection.reason == "the encrypted file: there is no session bus")
  }

  @Test func `describes the start, which may be outdated later`() throws {
    let cases = [
      Case("", keyring: .open(hasCredentials: false), is: nil),
      Case("", keyring: .open(hasCredentials: true), is: nil),
      Case("", keyring: .locked, is: nil), Case("", file: Self.filled, is: nil),
    ]
    for example in cases {
      let reason = try example.select().reason
      #expect(!reason.contains(" is ") && !reason.contains(" has "), "\(reason)")
    }
  }

  @Test func `must be named if there are credentials in both`() throws {
    let error = try #require(
      throws: StorageError.self,
      performing: {
        try Case("", keyring: .open(hasCredentials: true), file: Self.filled, is: nil).select()
      })
    #expect(error.message.contains("keyring") && error.message.contains("encrypted file"))
    #expect(error.hint?.contains("kistd migrate") == true)
    #expect(error.hint?.contains("the same --data") == true)
  }

  @Test func `is refused with the command that moves credentials, if they are in another`() throws {
    let example = Case("", asked: .libsecret, pin: Self.inFile, file: Self.filled, is: nil)
    let error = try #require(
      throws: StorageError.self, performing: { try example.select() })
    let command = "`kistd migrate --to libsecret`, with the same --data"
    #expect(error.hint?.contains(command) == true)
  }
}
