/// Returns a word quoted for the shell, for commands that the user may paste; a plain word is
/// unchanged.
package func shellQuoted(_ word: String) -> String {
  let isPlain = word.utf8.allSatisfy { byte in
    switch Character(Unicode.Scalar(byte)) {
    case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", ":", "@", "+": true
    default: false
    }
  }
  // Without quotes, the shell drops an empty word.
  return isPlain && !word.isEmpty
    ? word
    : "'"
      + word.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
}
