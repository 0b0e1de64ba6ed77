import KistCore
import Testing

/// Bytes that are no request, and what is said of them.
struct BadInput: CustomTestStringConvertible {
  let testDescription: String
  let bytes: Secret
  let complaint: String?
  let status: Int32

  init(
    _ sentence: String, _ bytes: some Collection<UInt8>, _ complaint: String?, status: Int32 = 64
  ) {
    testDescription = sentence
    self.bytes = Secret(copying: bytes)
    self.complaint = complaint
    self.status = status
  }

  init(_ sentence: String, _ text: String, _ complaint: String?, status: Int32 = 64) {
    self.init(sentence, text.utf8, complaint, status: status)
  }
}
