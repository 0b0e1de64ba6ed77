/// The purpose of a derived key: eight ASCII characters, as `crypto_kdf` requires.
package struct KeyContext: Sendable {
  private let characters: StaticString

  /// Makes a context from eight ASCII characters.
  package init(_ characters: StaticString) {
    precondition(characters.utf8CodeUnitCount == 8 && characters.isASCII)
    self.characters = characters
  }

  func withCharacters<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    unsafe UnsafeRawPointer(characters.utf8Start).withMemoryRebound(to: CChar.self, capacity: 8) {
      unsafe body($0)
    }
  }
}
