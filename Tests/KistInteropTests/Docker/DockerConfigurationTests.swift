import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Docker's configuration` {
  @Test(
    arguments: [
      (nil, "{\n\t\"credsStore\": \"kist\"\n}\n", 0),
      ("{}", "{\n\t\"credsStore\": \"kist\"\n}", 0),
      (
        "{\n\t\"auths\": {\"r\": {\"auth\": \"dTpw\"}, \"s\": {}},\n  \"x\":  1e3\n}\n",
        "{\n\t\"credsStore\": \"kist\",\n\t\"auths\": {\"r\": {\"auth\": \"dTpw\"}, \"s\": {}},\n"
          + "  \"x\":  1e3\n}\n", 1
      ),
      ("\u{FEFF}{\"a\": \"{\"}", "\u{FEFF}{\n\t\"credsStore\": \"kist\",\"a\": \"{\"}", 0),
      ("{\"credsStore\": \"kist\", \"auths\": {\"r\": {\"auth\": \"dTpw\"}}}", nil, 1),
    ] as [(String?, String?, Int)])
  func `gains one member, and keeps all other bytes`(
    before: String?, after: String?, plainLogins: Int
  ) throws {
    let configuration = try DockerConfiguration(of: before.map(Secret.init(utf8:)))
    #expect(configuration.changed?.text == after)
    #expect(configuration.plainLogins == plainLogins)
  }

  @Test(arguments: [
    ("", StorageError.Code.badRequest), ("[]", .badRequest), ("{\"auths\": 1}", .badRequest),
    ("{\"auths\": {}", .badRequest), ("{\"credsStore\": \"pass\"}", .conflict),
    ("{\"credsStore\": \"\"}", .conflict),
  ])
  func `is refused if it is not understood, or names another helper`(
    text: String, code: StorageError.Code
  ) {
    let error = #expect(throws: StorageError.self) {
      try DockerConfiguration(of: Secret(utf8: text))
    }
    #expect(error?.code == code)
    #expect(error?.message.contains("not changed") == true)
  }
}
