import KistCore

func x(_ count: Int) -> String { String(repeating: "x", count: count) }

private func object(of count: Int, valuesOf size: Int = 1) -> String {
  "{" + (0..<count).map { #""canary\#($0)":"\#(x(size))""# }.joined(separator: ",") + "}"
}

extension BadRequest {
  /// Each limit exceeded by one; LimitTests shows that what meets it is carried out.
  static let limits = [
    BadRequest(
      #"{"op":"load","service":"","account":"canary"}"#, "the service is empty", isUnchanged: false),
    BadRequest(#"{"op":"save","service":"","secret":"canary"}"#, "the service is empty"),
    BadRequest(
      #"{"op":"save","service":"canary\u0000","secret":"x"}"#,
      "the service has a control character in it"),
    BadRequest(
      #"{"op":"load","service":"s","account":"canary\u0000"}"#,
      "the account has a control character in it", isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"canary\u0085"}"#, "the service has a control character in it",
      isUnchanged: false),
    BadRequest(
      #"{"op":"save","service":"\#(x(1025))","secret":"canary"}"#,
      "the service is 1025 bytes long; the limit is 1024", .tooLarge),
    BadRequest(
      #"{"op":"delete","service":"canary","account":"é\#(x(1023))"}"#,
      "the account is 1025 bytes long; the limit is 1024", .tooLarge),
    BadRequest(
      #"{"op":"save","service":"canary","secret":"\#(x(524_289))"}"#,
      "the secret is 524289 bytes long; the limit is 524288", .tooLarge),
    BadRequest(
      #"{"op":"save","service":"canary","secretBase64":"\#(String(repeating: "A", count: 699_052))"}"#,
      "the secret is 524289 bytes long; the limit is 524288", .tooLarge),
    BadRequest(
      #"{"op":"save","service":"canary","secret":"x","label":"\#(x(1025))"}"#,
      "the label is 1025 bytes long; the limit is 1024", .tooLarge),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":\#(object(of: 65))}"#,
      "there are 65 attributes; the limit is 64", .tooLarge),
    BadRequest(
      #"{"op":"find","attributes":\#(object(of: 129))}"#,
      "an object of more than 128 members at byte 1965"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":{"\#(x(257))":"canary"}}"#,
      "an attribute's name is 257 bytes long; the limit is 256", .tooLarge),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":{"":"canary"}}"#,
      "an attribute's name is empty"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":{"canary\#u{85}":"x"}}"#,
      "an attribute's name has a control character in it"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":{"canary":"\#(x(1025))"}}"#,
      "an attribute's value is 1025 bytes long; the limit is 1024", .tooLarge),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":\#(object(of: 17, valuesOf: 957))}"#,
      "the text of the attributes is 16395 bytes long; the limit is 16384", .tooLarge),
    BadRequest(
      #"{"op":"find","service":"canary","limit":0}"#, "the limit of a page is from 1 to 1000",
      isUnchanged: false),
    BadRequest(
      #"{"op":"find","service":"canary","limit":1001}"#, "the limit of a page is from 1 to 1000",
      isUnchanged: false),
    BadRequest(
      #"{"op":"unlock","passphrase":"\#(x(1025))"}"#,
      "the passphrase is 1025 bytes long; the limit is 1024", .tooLarge, isUnchanged: false),
  ]
}
