import KistCore
import KistInterop

extension Call {
  static func docker(_ action: String, _ input: String, gives output: String = "") -> Call {
    Call(helper: answerDocker, arguments: [action], input: Secret(utf8: input), output: output)
  }

  static func store(_ url: String, _ username: String, _ secret: String) -> Call {
    .docker("store", #"{"ServerURL":"\#(url)","Username":"\#(username)","Secret":"\#(secret)"}"#)
  }

  /// A `get` of what is not there, in the words that docker compares.
  static func missing(_ url: String) -> Call {
    .refused("get", url, "credentials not found in native keychain")
  }

  static func refused(_ action: String, _ input: String, _ message: String) -> Call {
    Call(
      helper: answerDocker, arguments: [action], input: Secret(utf8: input),
      output: message + "\n", status: 1)
  }
}
