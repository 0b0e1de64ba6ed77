import KistCore
import KistJSON

/// Why a text is refused; `nil` if it is not.
func fault(in bytes: [UInt8]) -> JSONError? {
  do throws(JSONError) { _ = try JSONObject(Secret(copying: bytes)) } catch { return error }
  return nil
}

func fault(in text: String) -> JSONError? { fault(in: Array(text.utf8)) }

/// What a function throws; `nil` if it does not.
func fault<Value>(_ read: () throws(JSONError) -> Value) -> JSONError? {
  do throws(JSONError) { _ = try read() } catch { return error }
  return nil
}

/// The object that a text is.
func object(_ text: String) throws(JSONError) -> JSONObject { try JSONObject(Secret(utf8: text)) }

/// The value of `a` in an object.
func value(_ text: String) throws(JSONError) -> JSONValue {
  try object(#"{"a":\#(text)}"#).required("a")
}

extension Secret {
  var bytes: [UInt8] { withBytes { span in span.indices.map { span[$0] } } }
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
