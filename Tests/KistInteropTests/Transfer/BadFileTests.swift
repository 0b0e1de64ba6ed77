import KistCore
import KistInterop
import Testing

/// A file that is none of its format, and what is said of it.
struct BadFile: CustomTestStringConvertible, Sendable {
  let format: ForeignFormat
  let text: String
  let complaint: String
  var configuration: String?

  var testDescription: String { "\(format.rawValue): \(complaint)" }

  init(_ format: ForeignFormat, _ text: String, _ complaint: String, configuration: String? = nil) {
    self.format = format
    self.text = text
    self.complaint = complaint
    self.configuration = configuration
  }

  static let all = [
    BadFile(.netrc, "machine a\nhunter2", "line 2: a word is not a keyword here"),
    BadFile(.netrc, "login a", "line 1: a word is not a keyword here"),
    BadFile(.netrc, "machine", "line 1: nothing follows `machine`"),
    BadFile(.netrc, "machine a\npassword \"hunter2", "line 2: a quote is not closed"),
    BadFile(.netrc, "machine a password \"hunter2\n\"", "line 1: a quote is not closed"),
    BadFile(.gitCredentials, "machine a login b password hunter2", "line 1: not a URL"),
    BadFile(
      .gitCredentials, "https://%FF:hunter2@x", "line 1: a part of the URL is not UTF-8"),
    BadFile(.docker, "hunter2", "line 1: not a JSON object"),
    BadFile(.docker, "{\n\"auths\": {\"a\"}}", "line 2: no colon after a key"),
    BadFile(
      .docker, #"{"auths":{"a":{"auth":"hunter2!"}}}"#,
      "`auth` is not base64 (RFC 4648 §4, with padding)"),
    BadFile(
      .docker, #"{"auths":{"a":{"auth":"aHVudGVyMg=="}}}"#,
      "`auth` is not a user, a colon and a password"),
    BadFile(.docker, #"{"auths":{"a":"hunter2"}}"#, "`auths` must be an object"),
    BadFile(.aws, "[p]\nhunter2", "line 2: there is no equals sign"),
    BadFile(.aws, "{\"auth\":\"aHVudGVyMg==\"}", "line 1: there is no profile above it"),
    BadFile(
      .cargo, "[default]\naws_access_key_id = AKIAhunter2",
      "line 2: a value is neither a quoted string nor an integer, true or false"),
    BadFile(
      .cargo, "[registry]\ntoken = npm_hunter2",
      "line 2: a value is neither a quoted string nor an integer, true or false"),
    BadFile(
      .keyring, #"{"service":"s","account":"a","attributes":{},"secret":"hunter2"}"#,
      "line 1: it is from an export of kist, which `kist import kist` reads"),
    BadFile(.aws, "[]", "line 1: there is no profile in the brackets"),
    BadFile(.cargo, "[registry]\ntoken = \"hunter2", "line 2: a string is not closed"),
    BadFile(.cargo, "token = \"hunter\\2\"", "line 1: an unknown escape"),
    BadFile(.cargo, "token = \"\\u12\"", "line 1: an escape is not hexadecimal"),
    BadFile(.cargo, "token = \"\\uD800\"", "line 1: an escape is not a character"),
    BadFile(.cargo, "token = \"\\", "line 1: a string is not closed"),
    BadFile(.cargo, "hunter2", "line 1: there is no equals sign"),
    BadFile(.cargo, "= 1", "line 1: a name is missing"),
    BadFile(.cargo, "a = 1\n[registry", "line 2: the name of a table is not closed"),
    BadFile(.cargo, "a = 'b' hunter2", "line 1: there is text after a value"),
    BadFile(.cargo, "a = {b = 1", "line 1: an inline table is not closed"),
    BadFile(.cargo, "a = {b = 1,\n", "line 2: an inline table is not closed"),
    BadFile(.cargo, "a = [1,\n", "line 2: an array is not closed"),
    BadFile(
      .cargo, "a={a={a={a={a={a={a={a={a={a=1}}}}}}}}}",
      "line 1: tables and arrays are nested deeper than 8 levels"),
    BadFile(
      .cargo, "a = [[[[[[[[[1]]]]]]]]]", "line 1: tables and arrays are nested deeper than 8 levels"
    ),
    BadFile(.cargo, "a = 1 hunter2", "line 1: there is text after a value"),
    BadFile(.cargo, "a = true hunter2", "line 1: there is text after a value"),
    BadFile(
      .cargo, "a = \"\"\"hunter2\"\"\"",
      "line 1: a string is in triple quotes; write it on one line, in one pair of quotes"),
    BadFile(.cargo, "a = [1]hunter2", "line 1: there is text after a value"),
    BadFile(.cargo, "a = [1 hunter2]", "line 1: an array is not closed"),
    BadFile(
      .cargo, "", "cargo's configuration, line 1: there is no equals sign", configuration: "hunter2"
    ),
    BadFile(.bitwarden, #"{"encrypted":true}"#, ""),
    BadFile(.bitwarden, "{}", "`items` is missing"),
    BadFile(.bitwarden, #"{"items":[{"name":"hunter2"}]}"#, "`type` is missing"),
    BadFile(.onePassword, "{}", "`accounts` is missing"),
    BadFile(.onePassword, "PK\u{3}\u{4}hunter2", "it is a ZIP archive"),
    BadFile(.netrc, "PK\u{3}\u{4}hunter2", "it is a ZIP archive"),
    BadFile(.chrome, "", "there is nothing in it"),
    BadFile(
      .firefox, "hunter2,alice", "the first line does not name the columns of this format"),
    BadFile(.keepassxc, "url,password\n\"hunter2", "line 2: a quote is not closed"),
    BadFile(
      .chrome, "url,password\n\"a\"hunter2", "line 2: there is text after a quoted field"),
    BadFile(
      .chrome, "url,username,password\nx,y,z\nc.example,al,hunter2,ss",
      "line 3: there are more or fewer fields than the first line names"),
    BadFile(
      .chrome, "url,username,password\nc.example,hunter2",
      "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .chrome, "name,url,username,password,note\nsite,https://c1.example,joe,hunter2,ss,",
      "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .chrome, "url,username,password\nc.example,al,hunter2,",
      "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .chrome, "url,username,password,\nc.example,al,hunter2,ss,",
      "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .keepassxc,
      #"""
      "Group","Title","Username","Password","URL","Notes"
      "Root","KP","joe",hunter2,secret,"https://kp2.example",""
      """#, "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .onePassword, "Title,Url,Username,Password,Notes\nX,x.example,u,hunter2,ss,",
      "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .bitwarden,
      "type,name,login_uri,login_username,login_password,login_totp\n"
        + "login,A,a.example,u,hunter2,ss,",
      "line 2: there are more or fewer fields than the first line names"),
    BadFile(
      .chrome, "url,password\n" + String(repeating: ",", count: 129),
      "line 2: a row of more than 128 fields"),
  ]
}

@Suite(.timeLimit(.minutes(10))) struct `A file that is not of its format` {
  @Test(arguments: BadFile.all)
  func `is refused with where that shows, and none of its content`(_ file: BadFile) {
    let error = #expect(throws: StorageError.self) {
      try file.format.read(
        Secret(utf8: file.text), configuration: file.configuration.map { Secret(utf8: $0) })
    }
    #expect(error?.code == .badRequest)
    #expect(error?.outcome == .unchanged)
    #expect(error?.message.contains("hunter2") == false)
    #expect(
      error?.message == "the file cannot be read: \(file.complaint)"
        || file.complaint.isEmpty && error?.message == "the file is encrypted")
  }

  @Test(
    arguments: [
      "", "9f8e7d6c5b4a", "1deadbeef", "--1", "+-1", "-false", "truth", "1_000", "0xDEAD", "1e5",
      "1.5", ".5", "inf", "nan", "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "[hunter2]",
      "['a', hunter2]",
    ])
  func `is refused with its line if a word without quotes is neither a boolean nor an integer`(
    word: String
  ) {
    let error = #expect(throws: StorageError.self) {
      try ForeignFormat.cargo.read(Secret(utf8: "a = \(word)"))
    }
    #expect(error?.message.hasPrefix("the file cannot be read: line 1: ") == true)
    #expect(error?.message.contains("hunter2") == false)
  }

  @Test func `is refused where a row's field is not text`() {
    let text = Secret(copying: Array("url,username,password\na,".utf8) + [0xFF] + Array(",p".utf8))
    let error = #expect(throws: StorageError.self) { try ForeignFormat.chrome.read(text) }
    #expect(error?.message == "the file cannot be read: line 2: a field is not UTF-8")
  }

  @Test(
    arguments: [
      (.netrc, "", "machine a password b\n", ""),
      (.bitwarden, #"{"items":[{"type":2}"#, #",{"type":2}"#, "]}"),
      (.onePassword, #"{"accounts":[{"vaults":[{"items":[{}"#, ",{}", "]}]}]}"),
    ] as [(ForeignFormat, String, String, String)])
  func `is refused where it has more entries than a file may have`(
    format: ForeignFormat, start: String, entry: String, end: String
  ) {
    let text = start + String(repeating: entry, count: ForeignCredentials.most + 1) + end
    let error = #expect(throws: StorageError.self) { try format.read(Secret(utf8: text)) }
    #expect(error?.code == .tooLarge)
  }
}
