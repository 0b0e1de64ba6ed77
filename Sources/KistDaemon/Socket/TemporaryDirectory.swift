internal import Glibc
internal import KistCore

/// Makes a new directory of mode 0700 in another one.
func makeTemporaryDirectory(in parent: String) throws(StorageError) -> String {
  var template = (parent + "/kist-XXXXXX").utf8CString.map { $0 }
  guard unsafe mkdtemp(&template) != nil else {
    throw .failed("make a directory in", parent, hint: otherSocketHint)
  }
  return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}
