import KistCore
import Testing

/// A line that is to be refused, and how.
struct BadRequest: Sendable, CustomTestStringConvertible {
  let line: String
  let message: String
  let code: StorageError.Code
  /// The `id` of the reply.
  let id: String?
  /// Whether the reply says that nothing was changed.
  let isUnchanged: Bool

  var testDescription: String { line.count < 100 ? line : "\(line.prefix(60))… → \(message)" }

  init(
    _ line: String, _ message: String, _ code: StorageError.Code = .badRequest, id: String? = nil,
    isUnchanged: Bool = true
  ) {
    self.line = line
    self.message = message
    self.code = code
    self.id = id
    self.isUnchanged = isUnchanged
  }
}

extension BadRequest {
  static let table = lines + envelopes + claims + keys + types + secrets + times + storages + limits

  private static let lines = [
    BadRequest("canary", "not a JSON object at byte 0"),
    BadRequest(#""canary""#, "not a JSON object at byte 0"),
    BadRequest(#"["canary"]"#, "not a JSON object at byte 0"),
    BadRequest("null", "not a JSON object at byte 0"),
    BadRequest(#"{"op":"find"} canary"#, "more than one JSON object at byte 14"),
    BadRequest(#"{"op":"find","service":"canary"#, "a string is not closed at byte 23"),
    BadRequest(
      #"{"id":7,"op":"save","secret":canary}"#, "no value where one must be at byte 29", id: "7"),
    BadRequest(#"{"op":"find","service":"canary\ud800"}"#, "a lone surrogate at byte 30"),
    BadRequest(#"{"op":"find","service":"canary\udc00\ud800"}"#, "a lone surrogate at byte 30"),
    BadRequest(
      "{\"op\":\"find\",\"service\":\"canary\t\"}", "an unescaped control character at byte 30"),
    BadRequest(
      #"{"op":"find","limit":01,"service":"canary"}"#, "an object is not closed at byte 22"),
  ]

  private static let claims = [
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":"canary"}"#, "`onBehalfOf` must be an object",
      isUnchanged: true),
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":{"canary":1}}"#, "an unknown key at byte 46",
      isUnchanged: true),
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":{"program":""}}"#,
      "`program` must have 1 to 128 bytes and no control characters"),
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":{"program":"\#(x(129))"}}"#,
      "`program` must have 1 to 128 bytes and no control characters"),
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":{"program":"canary\u001b"}}"#,
      "`program` must have 1 to 128 bytes and no control characters"),
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":{"unit":"\#(x(256))"}}"#,
      "`unit` must have 1 to 255 bytes and no control characters"),
    BadRequest(
      #"{"op":"load","service":"canary","onBehalfOf":{"pid":0}}"#,
      "`pid` must be from 1 to 2147483647"),
  ]

  private static let envelopes =
    [
      BadRequest(#"{"service":"canary"}"#, "`op` is missing"),
      BadRequest(#"{"id":"x","service":"canary"}"#, "`op` is missing", id: #""x""#),
      BadRequest(#"{"op":null,"service":"canary"}"#, "`op` must be a string"),
      BadRequest(#"{"op":["canary"],"id":1}"#, "`op` must be a string", id: "1"),
      BadRequest(
        #"{"op":"canary","id":1}"#, "there is no such operation", .unknownOperation, id: "1"),
      BadRequest(#"{"op":"Save"}"#, "there is no such operation", .unknownOperation),
      BadRequest(#"{"op":"","id":-5}"#, "there is no such operation", .unknownOperation, id: "-5"),
      BadRequest(#"{"id":1,"id":"canary","op":"find"}"#, "a duplicate key at byte 8", id: "1"),
    ]
    + [
      "null", "true", "1.5", "1e3", "9007199254740992", "-9007199254740992", "[]",
      #"{"a":"canary"}"#,
      #""\#(String(repeating: "x", count: 129))""#, #""\#(String(repeating: "é", count: 65))""#,
    ].map {
      BadRequest(
        #"{"op":"find","id":\#($0)}"#,
        "`id` must be a string of at most 128 bytes or an integer within ±(2^53−1)")
    }

  private static let keys = [
    BadRequest(
      #"{"op":"save","service":"s","canary":1,"secret":"x"}"#, "an unknown key at byte 27"),
    BadRequest(
      #"{"op":"load","service":"s","secret":"canary"}"#, "an unknown key at byte 27",
      isUnchanged: false),
    BadRequest(#"{"op":"delete","service":"s","label":"canary"}"#, "an unknown key at byte 29"),
    BadRequest(#"{"op":"find","canary":1}"#, "an unknown key at byte 13", isUnchanged: false),
    BadRequest(#"{"op":"hello","canary":1}"#, "an unknown key at byte 14", isUnchanged: false),
    BadRequest(
      #"{"op":"status","service":"canary"}"#, "an unknown key at byte 15", isUnchanged: false),
    BadRequest(
      #"{"op":"lock","passphrase":"canary"}"#, "an unknown key at byte 13", isUnchanged: false),
    BadRequest(#"{"op":"unlock","canary":1}"#, "an unknown key at byte 15", isUnchanged: false),
    BadRequest(#"{"op":"find","ok":true}"#, "an unknown key at byte 13", isUnchanged: false),
    BadRequest(#"{"op":"save","secret":"canary"}"#, "`service` is missing"),
    BadRequest(#"{"op":"load","account":"canary"}"#, "`service` is missing", isUnchanged: false),
    BadRequest(#"{"op":"delete","account":"canary","id":1}"#, "`service` is missing", id: "1"),
    BadRequest(
      #"{"op":"save","service":"a","service":"canary","secret":"x"}"#, "a duplicate key at byte 27"),
    BadRequest(
      #"{"op":"save","service":"a","serv\u0069ce":"canary"}"#, "a duplicate key at byte 27"),
    BadRequest(
      #"{"op":"find","attributes":{"canary":"x","canar\u0079":"y"}}"#, "a duplicate key at byte 40"),
  ]

  private static let types = [
    BadRequest(
      #"{"op":"load","service":null,"account":"canary"}"#, "`service` must be a string",
      isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":1,"account":"canary"}"#, "`service` must be a string",
      isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"canary","account":null}"#, "`account` must be a string",
      isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"canary","encoding":null}"#, "`encoding` must be a string",
      isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"s","encoding":"canary"}"#, "`encoding` must be `text` or `base64`",
      isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"s","allowExpired":"canary"}"#,
      "`allowExpired` must be true or false", isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"s","maxStale":"canary"}"#, "`maxStale` must be an integer",
      isUnchanged: false),
    BadRequest(
      #"{"op":"load","service":"s","maxStale":-1}"#, "`maxStale` must not be negative",
      isUnchanged: false),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","keep":"canary"}"#, "`keep` must be an array"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","keep":true}"#, "`keep` must be an array"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","keep":null}"#, "`keep` must be an array"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","keep":[1]}"#, "`keep` must be a string"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","keep":["label","canary"]}"#,
      "`keep` must have only `label`, `attributes` and `expiresAt`"),
    BadRequest(#"{"op":"save","service":"s","secret":["canary"]}"#, "`secret` must be a string"),
    BadRequest(
      #"{"op":"save","service":"s","secret":null,"label":"canary"}"#, "`secret` must be a string"),
    BadRequest(
      #"{"op":"save","service":"s","secretBase64":1,"label":"canary"}"#,
      "`secretBase64` must be a string"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","label":null}"#, "`label` must be a string"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","attributes":null}"#,
      "`attributes` must be an object"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","attributes":[]}"#,
      "`attributes` must be an object"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":{"canary":1}}"#,
      "`attributes` must have strings only"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"x","attributes":{"canary":null}}"#,
      "`attributes` must have strings only"),
    BadRequest(
      #"{"op":"save","service":"s","secret":"canary","ifRevision":7}"#,
      "`ifRevision` must be a string"),
    BadRequest(
      #"{"op":"delete","service":"canary","ifRevision":null}"#, "`ifRevision` must be a string"),
    BadRequest(
      #"{"op":"find","service":"canary","limit":"1"}"#, "`limit` must be an integer",
      isUnchanged: false),
    BadRequest(
      #"{"op":"find","service":"canary","limit":1.0}"#,
      "`limit` must be an integer within ±(2^53−1)", isUnchanged: false),
    BadRequest(
      #"{"op":"find","service":"canary","after":null}"#, "`after` must be a string",
      isUnchanged: false),
    BadRequest(
      #"{"op":"unlock","passphrase":null,"id":"c"}"#, "`passphrase` must be a string", id: #""c""#,
      isUnchanged: false),
  ]

  private static let storages = [
    BadRequest(
      #"{"op":"slots","passphrase":"canary"}"#, "an unknown key at byte 14", isUnchanged: false),
    BadRequest(#"{"op":"slotAdd","current":"canary"}"#, "`passphrase` is missing"),
    BadRequest(
      #"{"op":"slotAdd","passphrase":"canary","replaceCurrent":1}"#,
      "`replaceCurrent` must be true or false"),
    BadRequest(#"{"op":"slotRemove","current":"canary"}"#, "`number` is missing"),
    BadRequest(#"{"op":"slotRemove","number":"canary"}"#, "`number` must be an integer"),
    BadRequest(
      #"{"op":"backup","passphrase":["canary"]}"#, "`passphrase` must be a string",
      isUnchanged: false),
    BadRequest(
      #"{"op":"backupPart","backup":"canary"}"#, "`offset` is missing", isUnchanged: false),
    BadRequest(
      #"{"op":"backupPart","backup":"canary","offset":"0"}"#, "`offset` must be an integer",
      isUnchanged: false),
    BadRequest(
      #"{"op":"watch","account":"canary"}"#, "an unknown key at byte 14", isUnchanged: false),
    BadRequest(
      #"{"op":"watch","service":["canary"]}"#, "`service` must be a string", isUnchanged: false),
  ]

  private static let secrets =
    [
      BadRequest(
        #"{"op":"save","service":"canary"}"#, "`secret` is missing, and so is `secretBase64`"),
      BadRequest(
        #"{"op":"save","service":"s","secret":"canary","secretBase64":"AA=="}"#,
        "`secret` cannot be combined with `secretBase64`"),
      BadRequest(
        #"{"op":"save","service":"s","secret":"","secretBase64":"canary"}"#,
        "`secret` cannot be combined with `secretBase64`"),
    ]
    + ["canary", "canary=", "canary!!", "canary+=", "Y2FuYXJ5Cg", "canary\\n\\n"].map {
      BadRequest(
        #"{"op":"save","service":"s","secretBase64":"\#($0)"}"#,
        "`secretBase64` is not base64 (RFC 4648 §4, with padding)")
    }

  private static let times =
    [
      "canary", "", "2026-11-20", "2026-11-20T10:00:00", "2026-02-30T10:00:00Z", "1e9",
      "2026-13-01T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T10:00:00+24:00",
      "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-11-20T10:00:00Z ",
    ].map {
      BadRequest(
        #"{"op":"save","service":"canary","secret":"x","expiresAt":"\#($0)"}"#,
        "`expiresAt` is not a date and time (RFC 3339)")
    } + [
      BadRequest(
        #"{"op":"save","service":"canary","secret":"x","expiresAt":1795168800}"#,
        "`expiresAt` must be a string"),
      BadRequest(
        #"{"op":"save","service":"canary","secret":"x","expiresAt":null}"#,
        "`expiresAt` must be a string"),
    ]
}
