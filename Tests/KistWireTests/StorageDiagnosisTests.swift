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
    ]
    for choice in choices {
      let diagnosis = StorageDiagnosis(
        choice: choice, external: [.init(storage: "libsecret", label: "keyring", probe: probe)])
      #expect(StorageDiagnosis(diagnosis.json().text) == diagnosis)
    }
  }

  @Test(arguments: [
    "", "{}", "nonsense", #"{"external":[]}"#,
    #"{"storage":"libsecret","reason":"it was asked for"}"#,
    #"{"error":{},"external":[]}"#,
    #"{"storage":"libsecret","reason":"it was asked for","external":{}}"#,
    #"{"storage":"libsecret","reason":"it was asked for","external":[{"locked":true}]}"#,
  ])
  func `is not read from any other text`(text: String) { #expect(StorageDiagnosis(text) == nil) }
}
