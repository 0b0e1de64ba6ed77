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
  func `is reported unchanged`(keyring: StorageProbe) throws {
    let choices: [Result<StorageDiagnosis.Choice, StorageError>] = [
      .success(.init(storage: "libsecret", reason: "\"because\"")), .failure(Self.error),
    ]
    for choice in choices {
      let diagnosis = StorageDiagnosis(choice: choice, keyring: keyring)
      #expect(StorageDiagnosis(diagnosis.json().text) == diagnosis)
    }
  }

  @Test(arguments: [
    "", "{}", "nonsense", #"{"keyring":{"locked":true}}"#,
    #"{"storage":"libsecret","reason":"it was asked for"}"#,
    #"{"error":{},"keyring":{"locked":true}}"#,
    #"{"storage":"libsecret","reason":"it was asked for","keyring":{"locked":false}}"#,
  ])
  func `is not read from any other text`(text: String) { #expect(StorageDiagnosis(text) == nil) }
}
