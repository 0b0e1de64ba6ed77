import KistCore
import KistInterop
import Testing

/// A file of another program's, and what is in it for kist.
struct ForeignFile: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let format: ForeignFormat
  let text: Secret
  let configuration: Secret?
  /// `service account = secret`, with a label in parentheses and attributes behind it.
  ///
  /// The mark of an item has no value here, because it is random.
  let credentials: [String]
  let leftOut: [LeftOut: [Int]]

  init(
    _ sentence: String, _ format: ForeignFormat, _ text: String, configuration: String? = nil,
    _ credentials: [String], leftOut: [LeftOut: [Int]] = [:]
  ) {
    testDescription = sentence
    self.format = format
    self.text = Secret(utf8: text)
    self.configuration = configuration.map { Secret(utf8: $0) }
    self.credentials = credentials
    self.leftOut = leftOut
  }

  func check() throws {
    let file = try format.read(text, configuration: configuration)
    #expect(file.entries.map { words(of: $0.credential) } == credentials)
    #expect(file.leftOut == leftOut)
  }
}

private func words(of credential: NewCredential) -> String {
  let label = credential.label.map { " (\($0))" } ?? ""
  let attributes = credential.attributes.sorted.map {
    $0.name == Attributes.itemMark ? " \($0.name)" : " \($0.name)=\($0.value)"
  }.joined()
  return "\(credential.key.service) \(credential.key.account) = \(credential.secret.text)"
    + label + attributes
}
