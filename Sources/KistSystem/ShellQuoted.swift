/// A word as the shell reads it back, in a command that a person may paste; a plain one as it is.
package func shellQuoted(_ word: String) -> String {
  let isPlain = word.utf8.allSatisfy { byte in
    switch Character(Unicode.Scalar(byte)) {
    case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", ":", "@", "+": true
    default: false
    }
  }
  // Without quotes, an empty word is none.
  return isPlain && !word.isEmpty
    ? word
    : "'"
      + word.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
}
