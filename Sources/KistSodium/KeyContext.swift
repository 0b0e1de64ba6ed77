/// What a derived key is for: eight ASCII characters, as `crypto_kdf` wants them.
package struct KeyContext: Sendable {
  private let characters: StaticString

  /// Takes eight ASCII characters.
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
