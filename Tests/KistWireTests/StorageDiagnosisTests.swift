import KistCore
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct `What kistd would open` {
  private static let error = StorageError(.unavailable, "there is none", hint: "make one")

  @Test(arguments: [
    StorageProbe.open(hasCredentials: true), .open(hasCredentials: false), .locked,
    .unusable(error),
  ])
  func `is reported unchanged`(probe: StorageProbe) throws {
    let choices: [Result<StorageDiagnosis.Choice, StorageError>] = [
      .success(.init(storage: "libsecret", reason: "\"because\"")), .failure(Self.error),
      .success(
        .init(storage: "encrypted-file", reason: "because", whyLocked: .locked("no key"))),
    ]
    for choice in choices {
      let diagnosis = StorageDiagnosis(
        choice: choice, external: [.init(storage: "libsecret", label: "keyring", probe: probe)])
      #expect(StorageDiagnosis(diagnosis.json().text) == diagnosis)
    }
  }

  @Test(arguments: [
    KeyringProvider(), .init(startable: .kist), .init(owner: .kist(pid: 7), startable: .other),
    .init(owner: .other(.init(pid: 7))),
    .init(owner: .other(.init(pid: 7, program: "a b", items: 3, lockedItems: 0))),
  ])
  func `includes the provider of the Secret Service`(provider: KeyringProvider) throws {
    let diagnosis = StorageDiagnosis(
      choice: .success(.init(storage: "libsecret", reason: "because")), external: [],
      provider: provider)
    #expect(StorageDiagnosis(diagnosis.json().text) == diagnosis)
    #expect(KeyringProvider(provider.json().text) == provider)
  }

  @Test(arguments: ["", "[]", #"{"pid":"7"}"#, #"{"pid":7,"items":"many"}"#])
  func `includes no provider that cannot be read`(text: String) {
    #expect(KeyringProvider(text) == nil)
  }

  @Test(arguments: [
    "", "{}", "nonsense", #"{"external":[]}"#,
    #"{"storage":"libsecret","reason":"it was asked for"}"#,
    #"{"error":{},"external":[]}"#,
    #"{"storage":"libsecret","reason":"it was asked for","external":[],"provider":{"pid":"7"}}"#,
    #"{"storage":"libsecret","reason":"it was asked for","external":{}}"#,
    #"{"storage":"libsecret","reason":"it was asked for","external":[{"locked":true}]}"#,
  ])
  func `is not read from any other text`(text: String) { #expect(StorageDiagnosis(text) == nil) }
}
